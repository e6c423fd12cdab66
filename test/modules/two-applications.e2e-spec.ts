import { afterEach, describe, expect, it } from '@jest/globals';
import { BatchedRepository, ConstraintErrors, defineErrors, text, toApiError } from 'durable-rest';
import { holdTimeouts, resetClocks, stopClock, TOKEN, until } from 'durable-rest/testing';
import { Column, Entity, PrimaryColumn, Unique } from 'typeorm';
import { NurseryApp } from '../../examples/nursery/test/nursery-app.js';
import { openSocket } from '../support/http/connection.js';
import { listServerSockets } from '../support/server-connections.js';
import { openEntityStore } from '../support/store.js';
import { TestApp } from '../support/fixture-app.js';
import { setConstraintErrors } from '../../packages/platform/src/rest/constraint-errors.decorator.js';

// Two applications in one process share what a process has once, and nothing else.

const MIB = 1024 * 1024;
const PHOTO = new Uint8Array(5 * MIB);
PHOTO.set(Buffer.from('89504e470d0a1a0a', 'hex'));

it('the metrics of one application show nothing of another', async () => {
  const [plants, nursery] = [await TestApp.start(), await NurseryApp.start()];
  await plants.create('{"id":1,"name":"n"}');
  await plants.get('/plants/1', { Authorization: 'Bearer unknown' });
  const [ofPlants, ofNursery] = [
    (await plants.get('/metrics')).text,
    (await nursery.get('/metrics')).text,
  ];
  for (const line of [
    'plant_store_build_info{',
    'auth_failures_total{reason="unknown"} 1\n',
    'store_creates_total{table="plants",outcome="created"} 1\n',
    'http_request_duration_seconds_count{method="POST",route="/plants",status="200"} 1\n',
  ]) {
    expect(ofPlants).toContain(line);
    expect(ofNursery).not.toContain(line);
  }
  expect(ofNursery).toContain('nursery_build_info{');
  // A process has one memory.
  for (const text of [ofPlants, ofNursery]) expect(text).toContain('process_resident_memory_bytes');
  await Promise.all([plants.close(), nursery.close()]);
});

describe('clients of another application', () => {
  const crowded = NurseryApp.forAll();
  const other = NurseryApp.forAll();
  afterEach(() => resetClocks());

  async function addPhoto(app: NurseryApp): Promise<string> {
    const path = `/varieties/${await app.createVariety('Monstera')}/photo`;
    expect(await app.put(path, PHOTO, { 'Content-Type': 'image/png' })).toMatchObject({
      status: 204,
    });
    return path;
  }

  it('do not wait for the turns of those who read no downloads', async () => {
    const [path, otherPath] = [await addPhoto(crowded), await addPhoto(other)];
    const sockets = listServerSockets(crowded);
    // However slow this machine is, no download waits too long for its turn.
    stopClock();
    holdTimeouts();
    const head = `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
    const clients = Array.from({ length: 30 }, () => openSocket(crowded.port).pause());
    for (const client of clients) client.write(head);
    await until(() => sockets.filter(({ writableLength }) => writableLength > MIB).length >= 12);
    expect(await other.get(otherPath)).toMatchObject({ status: 200 });
    for (const client of clients) client.destroy();
  });
});

@Entity('labels')
@Unique(['name'])
class Label {
  @PrimaryColumn(text())
  id!: string;

  @Column(text())
  name!: string;
}

/** With five digits, since the codes of a team's modules have six. */
const LabelErrors = defineErrors({
  NAME_OF_ONE: { error: 40983, message: 'one', advice: '' },
  NAME_OF_OTHER: { error: 40984, message: 'other', advice: '' },
});

it('the stores of two applications have their own errors for a violation of one table', async () => {
  const [one, other] = [await openEntityStore([Label]), await openEntityStore([Label])];
  const [first, second] = [one, other].map(({ dataSource }, index) => {
    const error = index === 0 ? LabelErrors.NAME_OF_ONE : LabelErrors.NAME_OF_OTHER;
    @ConstraintErrors(Label, { kind: 'unique', properties: ['name'], error })
    class LabelsController {}
    setConstraintErrors(dataSource, [LabelsController]);
    return new BatchedRepository(dataSource.getRepository(Label));
  });
  const violate = async (labels?: BatchedRepository<Label>): Promise<number | undefined> => {
    await labels?.create({ id: 'a', name: 'n' });
    const failure = labels?.create({ id: 'b', name: 'n' }).catch((reason: unknown) => reason);
    const error = await failure;
    return toApiError(error)?.body.error;
  };
  expect([await violate(first), await violate(second)]).toEqual([40_983, 40_984]);
  await Promise.all([one.close(), other.close()]);
});
