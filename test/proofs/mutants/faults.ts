/** A fault to plant, and the tests that must find it. */
export interface Mutant {
  readonly fault: string;
  readonly file: string;
  /** Text that is in the file exactly once. */
  readonly text: string;
  readonly replacement: string;
  /** The project of Jest, a part of the path of the tests, and of their titles. */
  readonly test: string;
}

type Fault = readonly [fault: string, text: string, replacement: string, test?: string];

/** Faults of one file, which these tests find unless a fault names others. */
function plant(file: string, test: string, faults: readonly Fault[]): Mutant[] {
  return faults.map(([fault, text, replacement, own = test]) => {
    return { fault, file: `src/platform/${file}`, text, replacement, test: own };
  });
}

const REPOSITORY = 'unit database/batched-repository.spec';
const ROWS = 'sqlite test/batched-repository';
const PLANTS = 'sqlite test/plants.e2e';
const CREATES = 'sqlite test/create-plant';
const CONNECTIONS = 'sqlite test/connections';
const TRANSACTIONS = 'sqlite test/transactions';
const STOP = 'sqlite test/sqlite/shutdown while the application closes';

export const MUTANTS: readonly Mutant[] = [
  ...plant('rest/preconditions.ts', PLANTS, [
    ['a list of tags ends at its first fault', 'return [];', 'break;'],
    ['a weak tag matches strongly', '!tag.isWeak && tag.opaque === etag', 'tag.opaque === etag'],
    ['If-Match: * is a tag', "if (header.trim() === '*') return '*';", ''],
    [
      'If-None-Match is ignored by changes',
      'if (hasWeakly(this.ifNoneMatch, etag)) throw',
      'if (false) throw',
    ],
    [
      'a malformed If-None-Match lets a change through',
      "assertParsed('If-None-Match', this.ifNoneMatch);",
      '',
    ],
    [
      'an ETag that is not current matches',
      'if (!hasStrongly(this.ifMatch, etag)) throw',
      'if (false) throw',
    ],
  ]),
  ...plant('rest/etag.ts', PLANTS, [
    ['304 is answered with 200', 'response.status(HttpStatus.NOT_MODIFIED);', ''],
    ['every row has the same ETag', 'JSON.stringify(values)', "''"],
  ]),
  ...plant('rest/import.ts', 'unit rest/import', [
    ['batches begin in one turn of the event loop', 'nextStart ??= setImmediate', 'setImmediate'],
    ['the failures of an import are not counted', 'body.setResultBytes(', 'void ('],
    [
      'an import that has ended stays in the queue',
      'waiting.delete(client, start);\n      reject(signal.reason as Error);',
      'reject(signal.reason as Error);',
    ],
  ]),
  ...plant('database/batching/batch-queue.ts', 'unit batching/batch-queue', [
    [
      'an item that expires keeps its size counted',
      'for (const { size } of late) this.waitingSize -= size;',
      '',
    ],
    [
      'an item that a stuck batch holds does not expire',
      'for (const batch of this.inFlight.keys()) late.push(...batch.filter(isLate));',
      '',
    ],
    [
      'an item that expires rejects all others',
      'onTime === -1 ? this.waiting.length : onTime',
      'this.waiting.length',
    ],
    ['the queue has no limit of characters', ' || this.waitingSize >= MAX_WAITING.characters', ''],
    [
      'the queue has no limit of items',
      'this.waiting.length >= MAX_WAITING.items || ',
      '',
      REPOSITORY,
    ],
    [
      'the items of a batch stay counted as waiting',
      '    this.waitingSize -= size;\n    this.waiting = left;',
      '    this.waiting = left;',
    ],
    ['a batch has no limit of characters', 'size < this.maxCharacters &&', '', REPOSITORY],
    ['a batch has no limit of writes to a row', ' < MAX_WRITES_PER_ROW', ' < Infinity'],
    [
      'a queue keeps its rows from the other queues',
      'for (const start of this.held.starters) if (start !== this.startSoon) start();',
      '',
    ],
    [
      'all items of a batch get the first outcome',
      'const result = results[index];',
      'const result = results[0];',
      REPOSITORY,
    ],
    [
      'a large batch is answered in one turn',
      'if (index > 0 && index % ANSWERS_PER_TURN === 0) await nextTurn();',
      '',
    ],
    [
      'an item that would wait too long is not refused',
      ' || this.estimateWait() > MAX_EXPECTED_MS',
      '',
    ],
    [
      'a commit to a replaced file is acknowledged',
      'session.assertSameStore();',
      '',
      'sqlite sqlite/store-faults',
    ],
  ]),
  ...plant('database/batching/insert-rows.ts', REPOSITORY, [
    [
      'a conflict that cannot be explained counts as created',
      'for (const row of rows) if (!reasons.has(row)) reasons.set(row, failure);',
      'void failure;',
    ],
    [
      'the last of several rows with the same key wins',
      'if (!first.has(row.key)) first.set(row.key, row);',
      'first.set(row.key, row);',
    ],
    [
      'another row counts as the same',
      "comparison.isIdentical ? 'identical' : 'different'",
      "'identical'",
    ],
    [
      'a second row of a batch with the key of the first counts as created',
      'first.get(row.key) === row && created.has(row.key)',
      'created.has(row.key)',
    ],
    [
      'a row is refused although the row before it in its list is its parent',
      'return parent === columns.metadata ? undefined : findMissingParent(columns, comparison);',
      'return findMissingParent(columns, comparison);',
      ROWS,
    ],
  ]),
  ...plant('database/batching/read-rows.ts', PLANTS, [
    [
      'found rows are in the order of the store',
      'return keys.map((key) => found.get(key));',
      'return [...found.values()];',
      ROWS,
    ],
  ]),
  ...plant('database/batching/isolate-failures.ts', REPOSITORY, [
    [
      'a row that is refused fails its whole batch',
      "if (classifier.classify(error) === 'store') throw error;",
      'throw error;',
    ],
    [
      'a part that is refused is left out',
      'items.slice(begin, begin + size)',
      'items.slice(begin, begin + size - 1)',
    ],
  ]),
  ...plant('database/batching/replace-and-remove-rows.ts', ROWS, [
    ['a row that is missing counts as written', "done.has(item) ? 'done' : 'missing'", "'done'"],
    [
      'the first of several changes with the same key wins',
      'counts.set(item.key, round + 1);',
      '',
      REPOSITORY,
    ],
  ]),
  ...plant('database/batched-repository.ts', ROWS, [
    [
      'rows that are created push others out of a long page',
      'const whole = { ...page, until, limit: Number.MAX_SAFE_INTEGER };',
      'const whole = { ...page, until };',
    ],
  ]),
  ...plant('database/batching/change-locked-rows.ts', ROWS, [
    [
      'changes that are decided again are stored twice',
      '        await transaction.rollback();\n      } catch',
      '        await transaction.commit();\n      } catch',
    ],
    [
      'a row that was not inserted counts as changed',
      'if (sql.readKeys(await insert).size < inserted.length) return false;',
      '',
    ],
    ['the second change of a row does not see the first', '          rows.set(key, next);\n', ''],
    ['a removed row still exists for the next change', '          rows.delete(key);\n', ''],
    [
      'a change may give a row another key',
      'if (columns.getKey(columns.encodeRow(decision)) !== key) {',
      'if (false) {',
    ],
    ['a decision may be a promise', 'if (decision instanceof Promise) {', 'if (false) {'],
    [
      'a change that throws fails its batch',
      '        results.set(change, error as Error);\n',
      '        throw error;\n',
    ],
  ]),
  ...plant('database/batching/sql-builder.ts', PLANTS, [
    [
      'a page begins with the last row of the page before',
      "const operator = isDescending ? '<' : '>';",
      "const operator = isDescending ? '<=' : '>=';",
    ],
    ['a page is always in ascending order', '(isDescending ? `${key} DESC` : key)', 'key'],
  ]),
  ...plant('database/batching/page-cursor.ts', 'sqlite test/plant-lists', [
    [
      'a cursor is valid for any order and filter',
      'writeCursor(scope, end) === cursor ? end : undefined',
      'end',
    ],
    [
      'a cursor of a key may be any text',
      'end.every((part, index) => isValidText(scope.order[index], part))',
      'true',
    ],
    ['a cursor may lie outside of its list', 'isInList(scope, end)', 'true'],
  ]),
  ...plant('database/sqlite/sqlite-page-reader.ts', REPOSITORY, [
    [
      'pages of different limits share one limit',
      '`${page.limit} ${describeShape(page)}`',
      'describeShape(page)',
    ],
    [
      'pages of different orders share one order',
      '`${page.limit} ${describeShape(page)}`',
      '`${page.limit}`',
    ],
    ['a page never has a next one', 'hasMore: next !== undefined', 'hasMore: false', PLANTS],
  ]),
  ...plant('database/sqlite/fair-write-lock.ts', 'unit sqlite/fair-write-lock', [
    [
      'batches always go before other writers',
      ' && (!this.wasBatch || this.others.length === 0)',
      '',
    ],
    ['a lock that is released twice is passed on twice', 'if (isOver) return;', ''],
    [
      'a writer that was refused gets the lock',
      'this.others.splice(this.others.indexOf(grant), 1);',
      '',
    ],
    ['a writer waits for ever', 'reject(new ApiError(ErrorCatalogue.UNAVAILABLE));', ''],
  ]),
  ...plant('database/sqlite/sqlite-connection.ts', 'unit sqlite/sqlite-connection', [
    [
      'a statement that does not compile stays prepared',
      'this.statements.delete(cacheKey);\n        onError(error);',
      'onError(error);',
    ],
    [
      'statements without parameters keep those of the last execution',
      'parameters.length === 0 ? `;${sql}` : sql',
      'sql',
    ],
  ]),
  ...plant('database/sqlite/sqlite-query-runner.ts', TRANSACTIONS, [
    [
      'a query runner that lost a transaction begins no other',
      'if (this.transactionDepth === 0) this.forgetTransaction();',
      '',
    ],
    ['a transaction has no time limit', '    this.limitTime(open);\n', ''],
    [
      'a transaction that was lost is committed',
      "if (state.kind === 'lost') throw state.reason;\n    if (state.kind !== 'open') {\n      this.state = IDLE;",
      "if (state.kind !== 'open') {\n      this.state = IDLE;",
    ],
  ]),
  ...plant('database/sqlite/sqlite-driver.ts', TRANSACTIONS, [
    [
      'an int64 is read as a double',
      'return super.prepareHydratedValue(String(value), column) as unknown;',
      'return value;',
    ],
  ]),
  ...plant('database/postgres/postgres-query-runner.ts', 'postgres test/transactions', [
    [
      'a query runner that lost a transaction begins no other',
      'if (this.transactionDepth === 0) this.forgetConnection(this.lost);',
      '',
    ],
    [
      'a transaction has no time limit',
      'this.timer.start(this.transactionLimit, (error) => this.lose(error));',
      '',
    ],
  ]),
  ...plant('database/postgres/postgres-schema-builder.ts', 'postgres postgres/migrations', [
    ['an index blocks the writes to a table in use', 'age(xmin) <> 0', 'false'],
  ]),
  ...plant('database/postgres/postgres-session.ts', 'postgres postgres/driver', [
    [
      'a COMMIT that is answered with ROLLBACK succeeds',
      "if ((await committed) !== 'COMMIT') throw new Error('The transaction was rolled back');",
      '',
    ],
  ]),
  ...plant('database/filters.ts', 'postgres postgres/driver', [
    [
      'a text is compared by its hash alone',
      "? [isEqual, { key, operator: 'hash', value: encoded }]",
      "? [{ key, operator: 'hash', value: encoded }]",
    ],
  ]),
  ...plant('database/postgres/postgres-errors.ts', 'postgres postgres/locks', [
    [
      'a row that another session holds fails its batch',
      "if (isLocked(error) || CONFLICTS.has(getErrorCode(error))) return 'lock';",
      '',
    ],
  ]),
  ...plant('database/postgres/postgres-dialect.ts', 'postgres postgres/locks', [
    [
      'rows are not locked before they are changed',
      "lockSelected: 'FOR UPDATE'",
      "lockSelected: ''",
    ],
  ]),
  ...plant('database/postgres/postgres-change-log.ts', 'postgres postgres/changes', [
    [
      'a change is readable before those with lower numbers',
      'if (writers.size === 0) this.settled',
      'if (true) this.settled',
    ],
  ]),
  ...plant('database/change-feed.ts', 'sqlite test/change', [
    [
      'the feed keeps every page that was read',
      'if (shared.size > MAX_SHARED && oldest !== undefined) shared.delete(oldest);',
      '',
    ],
    [
      'a stream sends a page that is known without a turn',
      'return await inTurn(() => this.readAndShare(position, settled));',
      'return await (this.shared.get(position.number) ?? inTurn(() => this.readAndShare(position, settled)));',
      'sqlite test/change-streams',
    ],
    [
      'every change wakes all streams at once',
      'this.listeners * GATHER_MS_PER_LISTENER',
      '0',
      'sqlite test/change-streams',
    ],
    [
      'a page that could not be read fails every later stream',
      'if (shared.get(position.number) === page) shared.delete(position.number);',
      '',
    ],
    [
      'a cursor of an earlier epoch is valid',
      'position.epoch !== epoch || position.number < removed',
      'position.number < removed',
    ],
    [
      'changes that were removed count as read',
      'epoch !== position.epoch || removed > position.number',
      'epoch !== position.epoch',
      'sqlite test/change-stream-ends',
    ],
    [
      'a cursor beyond the newest change is valid',
      'if (position.number > newest) throw',
      'if (false) throw',
    ],
    [
      'a stop ends a stream before the changes that are due',
      ' && !(await this.hasMore(position))',
      '',
    ],
  ]),
  ...plant('requests/body-reader.ts', CREATES, [
    [
      'a growing buffer forgets its bytes when it grows',
      'new Uint8Array(resizable).set(new Uint8Array(this.memory));',
      '',
      'unit requests/body-reader',
    ],
    [
      'partial bodies of clients that left stay counted',
      '    const onClose = (): void => {\n      settle();',
      '    const onClose = (): void => {',
      `${CONNECTIONS} leave before`,
    ],
    ['a body that is not UTF-8 is read', 'if (!isUtf8(bytes)) {', 'if (false) {'],
    [
      'a body may have any length',
      'if (length > BODY_LIMIT) throw new ApiError(ErrorCatalogue.BODY_TOO_LARGE);',
      '',
    ],
    [
      'a chunked body is not checked',
      'if (declared === undefined) checkBody(req, bytes.length, mediaTypes);',
      '',
      'sqlite test/http.e2e',
    ],
    ['any charset is accepted', 'if (!/^utf-?8$/i.test(charset)) return', 'if (false) return'],
  ]),
  ...plant('json/json-reader.ts', 'unit json/json-reader', [
    ['the last value of a member given twice is used', 'values[index] = GIVEN_TWICE;', ''],
    ['a value may nest to any depth', 'if (depth > MAX_DEPTH) {', 'if (false) {'],
    [
      'text may follow the value',
      "if (!Number.isNaN(this.skipSpace())) this.fail('nothing may follow the value');",
      '',
    ],
    [
      'a name with escapes is not recognized',
      'index = members.findIndex((member) => member.name === name);',
      '',
    ],
    ['a short text keeps the whole body in memory', 'hasEscapes || isPart', 'hasEscapes'],
  ]),
  ...plant('json/json-number.ts', 'unit json/json-number', [
    [
      'an integer beyond int64 is accepted',
      'value >= INT64_MIN && value <= INT64_MAX ? value : undefined',
      'value',
    ],
    ['a fraction is cut off', 'if (power < 0 || end', 'if (end'],
  ]),
  ...plant('requests/concurrent-requests.ts', 'unit requests/concurrent-requests', [
    [
      'any number of requests may begin in a turn of the event loop',
      'this.free > 0 && this.quota > 0 &&',
      'this.free > 0 &&',
    ],
    [
      'a request that waits for the next turn of the event loop is forgotten',
      '      this.quota = this.perTurn;\n      this.beginWaiting();',
      '      this.quota = this.perTurn;',
    ],
    [
      'a request waits though few have begun in the turn of the event loop',
      'const isFirst = this.quota-- === this.perTurn;',
      'const isFirst = --this.quota === 0;',
    ],
  ]),
  ...plant('limits/fair-queue.ts', 'unit limits/fair-share', [
    [
      'a client is served until it has nothing more',
      'moveToEnd(this.names, name, addresses.size === 0);',
      'if (addresses.size === 0) this.names.delete(name);',
    ],
  ]),
  ...plant('server/fast-express-adapter.ts', 'sqlite test/sqlite/overload', [
    ['the end of a body overtakes its joined chunks', 'this.joined?.flush();', ''],
  ]),
  ...plant('server/node-internals.ts', 'unit server/node-internals', [
    [
      'a parser that skipped a body skips all later ones',
      'setImmediate(() => (parser[key] = handler));',
      '',
    ],
  ]),
  ...plant('server/chunk-rate.ts', 'unit server/chunk-rate', [
    [
      'a client may begin any number of bodies in small chunks',
      'if (rate.debt > CHUNKS_PER_SECOND && rate.waiting.size > 0) {',
      'if (false) {',
    ],
    [
      'a connection that has closed stays in the queue of its client',
      "    socket.on('close', stopWaiting);\n",
      '',
    ],
    [
      'new bodies of one client stop the reading of the bodies of others',
      'const key = `${client.name}\\n${client.address}`;',
      "const key = '';",
    ],
    ['joined chunks are passed on twice', '    this.chunks = [];\n', ''],
    [
      'joined chunks are read without end',
      'return this.request.readableLength + this.size < this.request.readableHighWaterMark;',
      'return true;',
    ],
  ]),
  ...plant('server/pipelined-requests.ts', 'sqlite test/(connections|pipelined-requests)', [
    [
      'requests of one connection are handled at once',
      'if (this.isIdle) this.begin({ req, res, handler });',
      'this.begin({ req, res, handler });\n    if (this.isIdle) return;',
    ],
    [
      'a connection reads on while requests wait',
      '    this.waiting.push(exchange);\n    holdReading(this.socket, this);',
      '    this.waiting.push(exchange);',
    ],
    [
      'any number of requests may wait',
      '    this.holding ??= waitingInAll.hold(getClient({ socket: this.socket }), () => this.destroy());\n',
      '',
    ],
  ]),
  ...plant('server/connections.ts', STOP, [
    [
      'a stop accepts no connections that wait',
      'this.accepted > before &&',
      'this.accepted < before &&',
    ],
    ['a stop never refuses', 'else if (left < DRAIN_REFUSE_MS)', 'else if (false)'],
  ]),
  ...plant('server/http-server.ts', STOP, [
    [
      'a refusal of a stop is logged twice',
      'if (locals?.requestId === undefined) {',
      'if (true) {',
    ],
  ]),
  ...plant('database/postgres/postgres-pool.ts', 'unit postgres/postgres-pool', [
    [
      'a pool closes before its users',
      '    await Promise.all(Array.from({ length: this.size }, () => this.takePlace()));\n',
      '',
    ],
  ]),
  ...plant('auth/permissions.ts', 'sqlite test/scopes', [
    [
      'a token that may only read may write',
      'if (isReadOnly === true && !isReading) {',
      'if (false) {',
    ],
    ['one scope of several is enough', 'needed.every(', 'needed.some('],
  ]),
];
