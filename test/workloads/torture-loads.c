/*
 * Loads what it is told to while it is traced: test/live/torture-loads.test.ts.
 *
 * usage: torture-loads
 *
 * Prints "ready PID". For each line it then prints "done" and a number:
 * - "load PATH": a thread is in functions of that library from now on; how many libraries that
 * makes
 * - "unload": the last one's thread ends, and it is not mapped any more
 * - "alternate PATH PATH": in turn, 300 times each, loads one, waits in it for a moment and unloads
 * it; how often one was where the other had been
 * - "exec PATH": becomes that program, "PATH naps"
 */
#include "torture.h"

#include <dlfcn.h>

#ifndef LIBRARY

int t_spinning;
volatile int t_done;

static struct {
	void *library;
	void (*enter)(volatile int *done);
	pthread_t thread;
	volatile int done;
} loaded[16];

static void *t_1(void *nth)
{
	long i = (long)nth;

	loaded[i].enter(&loaded[i].done);
	AND_RETURN;
	return nth;
}

static int load(const char *path, long i)
{
	loaded[i].done = 0;
	loaded[i].library = dlopen(path, RTLD_LAZY);
	if (!loaded[i].library)
		return fprintf(stderr, "%s\n", dlerror());
	loaded[i].enter = (void (*)(volatile int *))dlsym(loaded[i].library, "t_enter");
	return pthread_create(&loaded[i].thread, NULL, t_1, (void *)i);
}

static void unload(long i)
{
	loaded[i].done = 1;
	pthread_join(loaded[i].thread, NULL);
	dlclose(loaded[i].library);
}

FUNCTION static int alternate(char *paths)
{
	void *place = NULL;
	int same = 0;

	paths[strcspn(paths, " ")] = 0;
	for (int i = 0; i < 600; i++) {
		const char *path = i % 2 ? paths : paths + strlen(paths) + 1;
		void *library = dlopen(path, RTLD_NOW);
		void (*nap)(void);
		Dl_info info;

		if (!library)
			exit(fprintf(stderr, "%s\n", dlerror()));
		nap = (void (*)(void))dlsym(library, "t_nap");
		nap();
		dladdr(nap, &info);
		same += info.dli_fbase == place;
		place = info.dli_fbase;
		dlclose(library);
	}
	return same;
}

int main(void)
{
	char line[4096];
	int count = 0;

	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "load ", 5) && load(line + 5, count++))
			return 2;
		if (!strncmp(line, "unload", 6))
			unload(--count);
		if (!strncmp(line, "alternate ", 10))
			count = alternate(line + 10);
		if (!strncmp(line, "exec ", 5))
			execl(line + 5, line + 5, "naps", NULL);
		printf("done %d\n", count);
		fflush(stdout);
	}
	return 0;
}

#else

/* As a library: WAY is in the names of its functions, FRAME_BYTES in the size of their frames. */
int t_spinning;
volatile int t_done;

#define NAME_(A, B) A##B
#define NAME(A, B)  NAME_(A, B)

FUNCTION static void NAME(t_inner_, WAY)(volatile int *done)
{
	volatile char memory[FRAME_BYTES] = {0};

	while (!*done)
		t_once();
	memory[0]++;
}

static volatile int *chooses_until;

/* Says which function is meant, when the loader asks as that is called for the first time. */
static void (*t_chooses(void))(volatile int *)
{
	if (chooses_until)
		NAME(t_inner_, WAY)(chooses_until);
	return NAME(t_inner_, WAY);
}

void NAME(t_chosen_, WAY)(volatile int *done) __attribute__((ifunc("t_chooses")));

FUNCTION static void *t_by_loader(void *done)
{
	chooses_until = done;
	NAME(t_chosen_, WAY)(done);
	AND_RETURN;
	return NULL;
}

FUNCTION void t_nap(void)
{
	volatile char memory[FRAME_BYTES] = {0};

	t_once();
	memory[0]++;
}

/* A second thread is in the loader's own function meanwhile, which has not bound that call yet. */
FUNCTION void t_enter(volatile int *done)
{
	volatile char memory[2 * FRAME_BYTES] = {0};
	pthread_t thread;

	pthread_create(&thread, NULL, t_by_loader, (void *)done);
	NAME(t_inner_, WAY)(done);
	memory[0]++;
	pthread_join(thread, NULL);
}

#endif
