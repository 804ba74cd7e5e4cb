/** What the programs without a load generator of their own are given to run. */

/** Threads at a lock, and work under it. */
export const PYTHON = `
import threading, json, zlib
lock = threading.Lock()
def work():
    kept = []
    while True:
        with lock:
            text = json.dumps({str(i): [i] * 10 for i in range(300)})
            kept.append(zlib.compress(text.encode()))
            if len(kept) > 2000: kept.clear()
for _ in range(4): threading.Thread(target=work).start()
`;

/** Children, command substitution, pipes, and work of the shell itself. */
export const BASH = `
while :; do
	text=$(echo "$RANDOM" | sed s/1/2/)
	for ((i = 0; i < 2000; i++)); do words[i]=\${text//2/$i}; done
	/bin/true
	cat <<<"\${words[*]}" | wc -c >/dev/null
done
`;

/** JavaScript that is compiled, files, cryptography in libuv's threads and in the main thread. */
export const NODE = `
const fs = require('fs'), crypto = require('crypto'), zlib = require('zlib');
const data = crypto.randomBytes(200000);
const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
async function files(name) {
	for (;;) {
		await fs.promises.writeFile(name, data);
		crypto.createHash('sha256').update(await fs.promises.readFile(name)).digest('hex');
		fib(20);
		JSON.parse(JSON.stringify(Array.from({ length: 2000 }, (_, i) => ({ i, text: 'x' + i }))));
	}
}
const keys = () => crypto.pbkdf2('secret', 'salt', 20000, 64, 'sha512', keys);
const zip = () => zlib.gzip(data, zip);
for (const name of ['a', 'b']) files(name);
keys(); zip();
`;

/** Threads at a lock, compiled code, garbage. */
export const JAVA = `
import java.util.*;
public class Load {
	static final Object lock = new Object();
	static final Map<Integer, String> map = new HashMap<>();
	static void work() {
		Random random = new Random();
		for (;;) {
			List<String> some = new ArrayList<>();
			for (int i = 0; i < 5000; i++) some.add("text " + random.nextInt());
			Collections.sort(some);
			synchronized (lock) {
				for (String each : some) map.put(random.nextInt(200000), each);
			}
		}
	}
	public static void main(String[] args) {
		for (int i = 0; i < 3; i++) new Thread(Load::work).start();
	}
}
`;

/** Goroutines at a lock and at channels, files, garbage, sorting. */
export const GO = `
package main
import ("fmt"; "math/rand"; "os"; "sort"; "sync")
var lock sync.Mutex
var kept = map[int]string{}
func work(numbers chan int) {
	for {
		some := make([]string, 3000)
		for i := range some { some[i] = fmt.Sprintf("text %d", rand.Int()) }
		sort.Strings(some)
		lock.Lock()
		for _, each := range some { kept[rand.Intn(100000)] = each }
		lock.Unlock()
		os.WriteFile("text", []byte(some[0]), 0o644)
		numbers <- len(some)
	}
}
func main() {
	numbers := make(chan int)
	for i := 0; i < 4; i++ { go work(numbers) }
	for range numbers { os.ReadFile("text") }
}
`;

/** Subroutines called by sort, regular expressions, and an interpreter in itself. */
export const PERL = `
sub by { my ($x, $y) = @_; return $x =~ s/text //r <=> $y =~ s/text //r; }
for (;;) {
	my @some = sort { by($a, $b) } map { "text " . int(rand(100000)) } 1 .. 2000;
	my %count; $count{length $_}++ for @some;
	eval 'map { s/(\\\\d)(\\\\d)/$2$1/r } @some';
}
`;

/** As a command of gdb. */
export const GDB =
	'python exec("while True: gdb.execute(\'info functions alloc\', to_string=True)")';
