// node --import ./deploy/opentelemetry/register.mjs dist/main.js: see docs/monitoring.md.
const { env } = process;
env.OTEL_SERVICE_NAME ??= 'plant-store';
env.OTEL_NODE_ENABLED_INSTRUMENTATIONS ??= 'http,pg,undici';
// The detectors of clouds ask addresses that exist only there.
env.OTEL_NODE_RESOURCE_DETECTORS ??= 'env,host,os,process';
// The program has metrics and a log of its own.
env.OTEL_METRICS_EXPORTER ??= 'none';
env.OTEL_LOGS_EXPORTER ??= 'none';
await import('@opentelemetry/auto-instrumentations-node/register');
