# Debian 13 has the C library that sqlite3's prebuilt binary needs; where there is no such binary,
# the installation builds one.
ARG NODE_IMAGE=node:24.21.0-trixie-slim@sha256:8ec5d7557396cfe32d21c3f9c13072355ceab22b584578ca4bb28af31120cffe

FROM ${NODE_IMAGE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3 make g++
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages/platform/package.json packages/platform/
COPY packages/schematics/package.json packages/schematics/
COPY packages/store/package.json packages/store/check-sqlite3.mjs packages/store/
# Also where NODE_ENV is production, the build needs the compiler.
RUN npm ci --include=dev
COPY nest-cli.json tsconfig.json tsconfig.build.json ./
COPY scripts/build-package.mjs scripts/check-compiler.mjs scripts/swc.mjs scripts/
COPY packages packages
COPY src src
RUN npm run build && rm dist/.tsbuildinfo && npm prune --omit=dev
# The program loads no types, source maps, documents or builds for browsers, and builds no sqlite3.
RUN cd node_modules \
    && rm -rf .bin .package-lock.json durable-rest-schematics typescript \
      node-addon-api node-gyp prebuild-install semver tar tar-fs tar-stream undici \
      bintrees/test class-transformer/bundles class-transformer/esm* class-validator/bundles \
      class-validator/esm* libphonenumber-js/bundle libphonenumber-js/es6-modern rxjs/dist/bundles \
      rxjs/dist/esm rxjs/dist/esm5 sqlite3/deps sqlite3/src swagger-ui-dist/swagger-ui-es-* \
      swagger-ui-dist/swagger-ui.js typeorm/browser \
    && find sqlite3/build -type f ! -name node_sqlite3.node -delete \
    && find . -type f ! -iname 'licen*' ! -iname 'notice*' \
      \( -name '*.ts' -o -name '*.[cm]ts' -o -name '*.map' -o -name '*.md' \) -delete

FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATABASE_URL=sqlite:/data/plants.db
# Threads for files, databases and cryptography; with more of them, more statements read at a time.
ENV UV_THREADPOOL_SIZE=8
WORKDIR /app
COPY package.json LICENSE ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/packages/platform/package.json packages/platform/
COPY --from=build /app/packages/platform/dist packages/platform/dist
COPY --from=build /app/packages/store/package.json packages/store/
COPY --from=build /app/packages/store/dist packages/store/dist
COPY --from=build /app/dist dist
RUN install -d -o node -g node /data
VOLUME /data
# By number, so that Kubernetes can tell that it is not root.
USER 1000:1000
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js"]
