/*
 * The latency lab (lab.h): threads that wait for a disk, or for memory.
 *
 * usage: lab-disk fsync|direct|faults|reclaim SEED FOLDER
 *
 * One thread, with a file of FOLDER, which is on a disk:
 * - fsync: it writes 256 KiB to 1 MiB to "journal", past the cache, whose copying would cost more
 *   than the disk, and syncs the file, in commit_record()
 * - direct: it reads 256 KiB to 1 MiB of "ledger", which are in no cache, in read_ledger()
 * - faults: it touches pages of "atlas", which are mapped and in no cache, in visit_page()
 * - reclaim: it writes to "archive", in fill_cache(), more than its control group has memory for:
 *   from outside
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>

#include "lab.h"

#define PAGE	      4096
#define CHUNK	      (1 << 20)
#define FILE_BYTES    (16 << 20)
#define ARCHIVE_BYTES (256 << 20)
#define VISITS	      64

static int file;
static unsigned int bytes;
static off_t at;
static volatile char *atlas;
static char chunk[CHUNK] __attribute__((aligned(PAGE)));

static int file_of(const char *name, int flags)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", lab_folder, name);
	fd = open(path, O_CREAT | O_RDWR | flags, 0600);
	must(fd >= 0);
	return fd;
}

static void filled(const char *name)
{
	int fd = file_of(name, 0);

	for (int done = 0; done < FILE_BYTES; done += CHUNK)
		must(pwrite(fd, chunk, CHUNK, done) == CHUNK);
	must(!fsync(fd) && !posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) && !close(fd));
}

TELLING void commit_record(void)
{
	must(pwrite(file, chunk, bytes, 0) == bytes && !fsync(file));
	KEEP_FRAME();
}

TELLING void read_ledger(void)
{
	must(pread(file, chunk, bytes, at) == bytes);
	KEEP_FRAME();
}

TELLING void visit_page(off_t place)
{
	atlas[place];
	KEEP_FRAME();
}

TELLING void fill_cache(void)
{
	must(pwrite(file, chunk, CHUNK, at) == CHUNK);
	KEEP_FRAME();
}

static void commit(struct thread *self)
{
	unsigned long long begin_ns = now_ns();

	chunk[0]++;
	commit_record();
	self->guilty_ns += now_ns() - begin_ns;
}

static void read_on(struct thread *self)
{
	unsigned long long begin_ns = now_ns();

	at = (at + bytes) % FILE_BYTES;
	read_ledger();
	self->guilty_ns += now_ns() - begin_ns;
}

/* Evicts them all, and visits some, far from each other. */
static void visit(struct thread *self)
{
	unsigned long long begin_ns;

	madvise((void *)atlas, FILE_BYTES, MADV_DONTNEED);
	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	begin_ns = now_ns();
	for (int i = 0; i < VISITS; i++) {
		at = (at + bytes) % FILE_BYTES;
		visit_page(at);
	}
	self->guilty_ns += now_ns() - begin_ns;
}

static void archive(struct thread *self)
{
	unsigned long long begin_ns = now_ns();

	at = (at + CHUNK) % ARCHIVE_BYTES;
	fill_cache();
	self->guilty_ns += now_ns() - begin_ns;
}

static void set_up_fsync(void)
{
	bytes = between(4, 16) * (64 << 10);
	file = file_of("journal", O_DIRECT);
	thread_of("committer", commit, 0);
}

static void set_up_direct(void)
{
	filled("ledger");
	bytes = (64 << 10) << between(2, 4);
	file = file_of("ledger", O_DIRECT);
	thread_of("auditor", read_on, 0);
}

static void set_up_faults(void)
{
	filled("atlas");
	bytes = (2 * between(30, 90) + 1) * PAGE;
	file = file_of("atlas", 0);
	atlas = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, file, 0);
	must(atlas != MAP_FAILED);
	thread_of("visitor", visit, 0);
}

static void set_up_reclaim(void)
{
	/* What is in the cache already is another group's. */
	file = file_of("archive", O_TRUNC);
	at = between(0, 100) * CHUNK;
	thread_of("archivist", archive, 0);
}

int main(int argc, char **argv)
{
	static const struct trouble troubles[] = {
		{"fsync", set_up_fsync},
		{"direct", set_up_direct},
		{"faults", set_up_faults},
		{"reclaim", set_up_reclaim},
		{NULL, NULL},
	};

	return lab_main(argc, argv, troubles);
}
