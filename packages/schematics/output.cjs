/** Why no schematic makes something of GraphQL. */
exports.GRAPHQL =
  'GraphQL is not supported, since its schema would be answered without a token: write a controller with nest g controller';

/** Writes a file as `npm run format` would leave it. */
exports.writeFormatted = async (tree, path, text) => {
  const { format, resolveConfig } = await import('prettier');
  const formatted = await format(text, {
    ...(await resolveConfig('package.json')),
    filepath: path,
  });
  if (tree.exists(path)) tree.overwrite(path, formatted);
  else tree.create(path, formatted);
};

/** Prints what to do next, below the list of the written files. */
exports.printHint = (text) => {
  if (process.argv.includes('--dry-run')) return;
  process.once('exit', (code) => {
    if (code === 0) console.log(text);
  });
};
