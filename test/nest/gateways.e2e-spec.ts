import { describe, expect, it } from '@jest/globals';
import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  Module,
  UseGuards,
} from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import { WsAdapter } from '@nestjs/platform-ws';
import {
  MessageBody,
  SubscribeMessage,
  WebSocketGateway,
  WsException,
  type WsResponse,
} from '@nestjs/websockets';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { WebSocket } from 'ws';
import { Public } from 'durable-rest';
import { TestApp } from '../support/fixture-app.js';

@Injectable()
class NamedGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToWs().getData<{ name?: string }>().name !== 'nobody';
  }
}

@Public()
@WebSocketGateway({ path: '/hello' })
class HelloGateway {
  @SubscribeMessage('hello')
  @UseGuards(NamedGuard)
  hello(@MessageBody('name') name: string): WsResponse<string> {
    return { event: 'hello', data: `Hello ${name}` };
  }

  @SubscribeMessage('fail')
  fail(): never {
    throw new WsException('no such thing');
  }
}

@Module({ providers: [HelloGateway] })
class HelloModule {}

@WebSocketGateway()
class ClosedGateway {
  @SubscribeMessage('hello')
  hello(): string {
    return 'Hello';
  }
}

@Module({ providers: [ClosedGateway] })
class ClosedModule {
  constructor(config: ApplicationConfig) {
    config.setIoAdapter(new WsAdapter(createServer()));
  }
}

describe('a public gateway', () => {
  const app = TestApp.configured(
    (nest) => nest.useWebSocketAdapter(new WsAdapter(nest)),
    HelloModule,
  );

  it.each([
    ['hello', { name: 'Ada' }, { event: 'hello', data: 'Hello Ada' }],
    ['hello', { name: 'nobody' }, { event: 'exception', data: { message: 'Forbidden resource' } }],
    ['fail', {}, { event: 'exception', data: { message: 'no such thing' } }],
  ])('answers %s with %j as Nest documents', async (event, data, answer) => {
    const socket = new WebSocket(`ws://127.0.0.1:${app.port}/hello`);
    await once(socket, 'open');
    socket.send(JSON.stringify({ event, data }));
    const [message] = (await once(socket, 'message')) as [Buffer];
    expect(JSON.parse(message.toString())).toMatchObject(answer);
    socket.terminate();
  });
});

it('the start says what to write for a gateway, whose messages carry no token', async () => {
  const start = TestApp.start({}, ClosedModule);
  await expect(start).rejects.toThrow('ClosedGateway: messages carry no token: write @Public()');
});
