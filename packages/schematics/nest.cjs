const { lastValueFrom, of } = require('rxjs');
const { GRAPHQL, printHint, writeFormatted } = require('./output.cjs');

/** Matches an import of another file without the extension that ES modules need. */
const WITHOUT_EXTENSION = /(from '\.{1,2}\/[^']*?)(?<!\.js)'/g;
/** Matches the type that the lint rules of this repository refuse. */
const ANY = /(?<=[:<] ?)any\b/g;

/** What a test of Nest's uses as globals, and tests of this repository import. */
const GLOBALS = ['beforeEach', 'describe', 'expect', 'it'];

/** What to do after a schematic, by its name. */
const HINTS = {
  gateway:
    'Now: npm install --save-prod @nestjs/websockets @nestjs/platform-ws. Write @Public() at the gateway, since messages carry no token, and in src/app.ts app.useWebSocketAdapter(new WsAdapter(app))',
};

/**
 * Generates what Nest's own schematic of the same name does, in the format of this repository and with
 * imports that Node resolves. New files also have unknown instead of any, and tests import what they
 * use of Jest.
 */
exports.nest = (options) => async (tree, context) => {
  const { collection, description } = context.schematic;
  const nest = context.engine.createCollection('@nestjs/schematics', collection);
  const made = await lastValueFrom(
    nest.createSchematic(description.name).call(options, of(tree.branch()), context),
  );
  for (const { path } of made.actions) {
    if (!path.endsWith('.ts') || !made.exists(path)) continue;
    const text = made.readText(path);
    const finished = tree.exists(path)
      ? addExtensions(text, tree.readText(path))
      : finishNewFile(path, text);
    await writeFormatted(made, path, finished);
  }
  const { [description.name]: hint } = HINTS;
  if (hint !== undefined) printHint(hint);
  return () => made;
};

/** Adds the extension to the imports that the text before did not have. */
function addExtensions(text, before) {
  return text.replace(WITHOUT_EXTENSION, (whole, start) =>
    before.includes(whole) ? whole : `${start}.js'`,
  );
}

function finishNewFile(path, text) {
  const typed = addExtensions(text, '').replace(ANY, 'unknown');
  if (!path.endsWith('.spec.ts')) return typed;
  const used = GLOBALS.filter((name) => new RegExp(`\\b${name}\\(`).test(typed));
  return `import { ${used.join(', ')} } from '@jest/globals';\n${typed}`;
}

/** @throws Error always: the package that Nest's resolver needs is not supported */
exports.resolver = () => {
  throw new Error(GRAPHQL);
};
