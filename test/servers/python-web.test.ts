/** Python's own web server, with a thread for each request. */
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { begin, until, written } from '../../bench/shared/servers.js';
import { assertComputes, assertWaits, WORK } from './python-session.js';
import { serverFolder } from './support.js';

const folder = serverFolder();

const SERVER = `${WORK}
import html, http.server, json, os, urllib.parse
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        order = urllib.parse.parse_qs(url.query)
        file = os.path.normpath(os.path.join('/srv', *order.get('file', ['index.html'])))
        text = json.dumps({'file': html.escape(file), 'took': answer(url.path)}, indent=1)
        body = json.loads(text)['took'].encode()
        self.send_response(200)
        self.send_header('Content-Length', len(body))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Page)
with open('port', 'w') as port: port.write(str(server.server_port))
server.serve_forever()
`;

const server = { pid: 0, options: { port: 0, path: '' } };

before(async () => {
	server.pid = begin(['/usr/bin/python3', written(folder, 'server.py', SERVER)], folder);
	await until(['test', '-s', 'port'], folder);
	server.options.port = Number(readFileSync(`${folder}/port`, 'utf8'));
});

const callers = [
	...['Page.do_GET', 'BaseHTTPRequestHandler.handle_one_request', 'BaseHTTPRequestHandler.handle'],
	...['BaseRequestHandler.__init__', 'BaseServer.finish_request'],
	...['ThreadingMixIn.process_request_thread', 'Thread.run'],
	...['Thread._bootstrap_inner', 'Thread._bootstrap'],
];

test('a web server of Python: functions that wait, by name, and for how long', () =>
	assertWaits({ ...server, callers }));

test('a web server of Python: functions that compute, by name, and for how long', () =>
	assertComputes({ ...server, callers }));
