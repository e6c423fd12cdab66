// The upper limit: node:http alone. It parses the JSON and answers, without checking or storing
// anything.
import { Buffer } from 'node:buffer';
import http from 'node:http';
import process from 'node:process';

const server = http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const { name, tag } = JSON.parse(Buffer.concat(chunks).toString());
    const body = JSON.stringify({ name, tag });
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  });
});

server.listen(Number(process.env.PORT), '127.0.0.1');
