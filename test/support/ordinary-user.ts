/**
 * Begins a command that is to run as a user who may not write everywhere: root does so without these
 * capabilities.
 */
export const AS_ORDINARY_USER =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];
