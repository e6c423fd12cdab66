#!/usr/bin/env bash
# Builds the image of the Dockerfile as plant-store, without Docker and without a registry of
# images. In place of the base image it uses the same release of Debian, from debootstrap, with the
# same Node, from npm. It is for tests, since its npm has this machine's settings. Needs root,
# buildah and debootstrap.
set -euo pipefail
cd "$(dirname "$0")/../../.."

for program in buildah debootstrap; do
  command -v "$program" >/dev/null || { echo "The image is built with $program: apt-get install $program" >&2; exit 1; }
done
[ "$(id -u)" = 0 ] || { echo "debootstrap needs root" >&2; exit 1; }

base=localhost/plant-store-base
[[ $(grep '^ARG NODE_IMAGE=' Dockerfile) =~ node:([0-9.]+)-([a-z]+)-slim ]]
node_version=${BASH_REMATCH[1]} debian=${BASH_REMATCH[2]}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

echo "Making Debian $debian with Node $node_version"
debootstrap --variant=minbase "$debian" "$root" >"$work/debootstrap.log" || { tail "$work/debootstrap.log" >&2; exit 1; }
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
chroot "$root" useradd --uid 1000 --user-group node

node_package=node-linux-$(node -p process.arch)
npm install --prefix "$work/npm" --no-save --ignore-scripts "$node_package@$node_version" npm@11 >/dev/null
cp -r "$work/npm/node_modules/$node_package"/{bin,include} "$root/usr/local"
mkdir -p "$root/usr/local/lib/node_modules" "$root/usr/local/etc"
cp -r "$work/npm/node_modules/npm" "$root/usr/local/lib/node_modules"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
{
  echo "registry=$(npm config get registry)"
  # The headers of Node, to build sqlite3.
  echo "nodedir=/usr/local"
  if certificates=$(npm config get cafile) && [ -f "$certificates" ]; then
    cp -L "$certificates" "$root/usr/local/etc/npm-ca.pem"
    echo "cafile=/usr/local/etc/npm-ca.pem"
  fi
} >"$root/usr/local/etc/npmrc"

container=$(buildah from scratch)
buildah add --quiet "$container" "$root" / >/dev/null
buildah commit --quiet --rm "$container" "$base" >/dev/null

# Of the two formats, only Docker's has health checks.
buildah build --isolation chroot --format docker --pull-never --build-arg "NODE_IMAGE=$base" --tag plant-store .
