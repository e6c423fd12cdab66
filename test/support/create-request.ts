let lastId = 0;

/** The bytes of a request that creates a plant, whose id no other one has. */
export function createRequest(token: string, name = 'Monstera'): string {
  const body = JSON.stringify({ id: ++lastId, name });
  return `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
