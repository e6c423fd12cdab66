/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testRegex: String.raw`\.(e2e-)?spec\.ts$`,
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { [String.raw`^(\.{1,2}/.*)\.js$`]: '$1' },
  transform: {
    [String.raw`\.ts$`]: [
      '@swc/jest',
      {
        swcrc: false,
        jsc: {
          target: 'es2023',
          keepClassNames: true,
          parser: { syntax: 'typescript', decorators: true },
          transform: {
            legacyDecorator: true,
            decoratorMetadata: true,
            useDefineForClassFields: false,
          },
        },
        module: { type: 'es6' },
      },
    ],
  },
  collectCoverageFrom: ['src/**/*.ts'],
};
