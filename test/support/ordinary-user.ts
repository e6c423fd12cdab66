/**
 * The start of a command that runs as an ordinary user: root without these capabilities cannot
 * write everywhere.
 */
export const AS_ORDINARY_USER =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];
