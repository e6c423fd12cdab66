/** Checks the rows of an export, by their ids, each the JSON of its name and tag. */
export type AuditExport = (rows: ReadonlyMap<string, string>) => void;

/** Clients that send requests, and know what must be stored. */
export interface Workload {
  /** What went wrong so far, for people to read. */
  readonly faults: readonly string[];

  /** Sends requests as long as `goesOn` returns true. */
  run(goesOn: () => boolean): Promise<void>;

  /** Begins an audit. The export must begin after this call, and may last while requests are sent. */
  startAudit(): AuditExport;

  summary(): string;
}
