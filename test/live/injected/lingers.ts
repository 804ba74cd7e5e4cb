/** For node's --import, into tstrace: node's own end never comes, as when its threads wait for each other. */
setInterval(() => {}, 1000);
process.on('exit', (status) => process.stderr.write(`exit handlers ran, status ${status}\n`));
