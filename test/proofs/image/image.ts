import type { Proof } from '../proof.js';

export default {
  summary: 'builds the container image without Docker, and runs it as docs/container.md says',
  takes: '5 min',
  needs: "root, and Debian's packages buildah, debootstrap, podman and runc",
  before: ['scripts/build-image.sh'],
  run: async () => {
    await import('./suite.js');
    return [];
  },
} satisfies Proof;
