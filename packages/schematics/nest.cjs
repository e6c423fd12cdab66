const { lastValueFrom, of } = require('rxjs');
const { GRAPHQL, printHint, writeFormatted } = require('./output.cjs');

/** Matches an import of another file without the extension that ES modules need. */
const WITHOUT_EXTENSION = /(from '\.{1,2}\/[^']*?)(?<!\.js)'/g;
/** Matches the type that the lint rules of this repository refuse. */
const ANY = /(?<=[:<] ?)any\b/g;

/** What to do after a schematic, by its name. */
const HINTS = {
  gateway:
    'Now: npm install @nestjs/websockets @nestjs/platform-ws. Write @Public() at the gateway, since messages carry no token, and in src/app.ts app.useWebSocketAdapter(new WsAdapter(app))',
};

/**
 * Generates what Nest's own schematic of the same name does, but with imports that Node resolves, in
 * the format of this repository, and with unknown in place of any.
 */
exports.nest = (options) => async (tree, context) => {
  const { collection, description } = context.schematic;
  const nest = context.engine.createCollection('@nestjs/schematics', collection);
  const made = await lastValueFrom(
    nest.createSchematic(description.name).call(options, of(tree), context),
  );
  for (const { path } of made.actions) {
    if (!path.endsWith('.ts') || !made.exists(path)) continue;
    const text = made.readText(path);
    const typed = text.replace(WITHOUT_EXTENSION, "$1.js'").replace(ANY, 'unknown');
    await writeFormatted(made, path, typed);
  }
  const { [description.name]: hint } = HINTS;
  if (hint !== undefined) printHint(hint);
  return () => made;
};

/** @throws Error always: the package that Nest's resolver needs is not supported */
exports.resolver = () => {
  throw new Error(GRAPHQL);
};
