const { lastValueFrom, of } = require('rxjs');

/** Matches an import of another file without the extension that ES modules need. */
const WITHOUT_EXTENSION = /(from '\.{1,2}\/[^']*?)(?<!\.js)'/g;

/** Generates what Nest's own schematic of the same name does, but with imports that Node resolves. */
exports.nest = (options) => async (tree, context) => {
  const { collection, description } = context.schematic;
  const nest = context.engine.createCollection('@nestjs/schematics', collection);
  const made = await lastValueFrom(
    nest.createSchematic(description.name).call(options, of(tree), context),
  );
  for (const { path } of made.actions) {
    if (!path.endsWith('.ts') || !made.exists(path)) continue;
    const text = made.readText(path);
    made.overwrite(path, text.replace(WITHOUT_EXTENSION, "$1.js'"));
  }
  return () => made;
};
