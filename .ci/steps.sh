# What .ci/run and .ci/nightly have in common. Both start it in the folder of the repository.
set -euo pipefail
# A proof without its tool fails, and names the tool.
export CI=true
export PATH="$PATH:/usr/sbin"

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo env "PATH=$PATH" "CI=$CI" "$@"; fi; }

# Each command with Debian's package that has it.
packages=()
need() { command -v "$1" >/dev/null || packages+=("$2"); }
[ -n "${CHROMIUM:-}" ] || command -v chromium chromium-browser google-chrome >/dev/null || packages+=(chromium)
need cc gcc
need curl curl
need setpriv util-linux
need sqlite3 sqlite3
need python3 python3
need strace strace
need pgbouncer pgbouncer
need nginx nginx-light
need haproxy haproxy
need caddy caddy
if [ ${#packages[@]} -gt 0 ]; then
  echo "Installing ${packages[*]}"
  as_root apt-get update -qq && as_root apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null ||
    { echo "apt-get could not install ${packages[*]}: install them by hand" >&2; exit 1; }
fi

# docs/proofs.md has the times and the tools of each proof. None of them builds: all run what npm cit
# has built.
prove() {
  node --conditions=source --import tsx --test-reporter=spec test/proofs/prove.ts "$@"
}

# Runs a function in a copy of the repository.
in_copy() {
  local copy
  copy=$(mktemp -d)
  git archive HEAD | tar -x -C "$copy"
  # A symbolic link would make Jest load the packages twice. Hard links take no time, but only on the
  # same disk; npm writes its list of packages in place.
  cp -al node_modules "$copy" 2>/dev/null || cp -r node_modules "$copy"
  cp --remove-destination node_modules/.package-lock.json "$copy/node_modules"
  (
    cd "$copy"
    "$@"
  )
  # A program that is about to end may remove its own files at the same time.
  rm -rf "$copy"
}

# A module that is made with the commands and diffs of the tutorial, of which the first commands
# are those of docs/modules.md, must compile, and pass its tests.
generated_module() {
  node test/docs/run-tutorial.mjs
}

# Modules as a team adds them must turn no test red that is not about them.
added_modules() {
  node test/added-modules/add.mjs
  npm run openapi
  npx prettier --check src docs
  # The package and its tests know nothing of these modules.
  npx eslint --max-warnings 0 src test/contract test/docs test/upgrades
  npm run typecheck
  npm run jest -- --selectProjects docs unit sqlite -- "^$PWD/(src/|test/[^/]*\$)" test/contract \
    test/docs test/upgrades test/server/documents test/fuzz
}

# Runs a command with the clock of JavaScript a year ahead.
a_year_ahead() {
  NODE_OPTIONS="--import=$PWD/test/support/year-ahead.mjs" "$@"
}

# The tests that depend on the date. The databases keep the clock of the machine, so those that compare
# both clocks are not among them.
dated_tests() {
  npm run jest -- --selectProjects unit docs sqlite --maxWorkers 100% -- test/docs test/upgrades \
    test/server/jwt test/server/client examples
}

# What the steps of the Dockerfile leave of the installation must still be a program.
image() {
  local answer
  sed -n '/^RUN npm run build/,/^$/p' Dockerfile | sed 's/^RUN //' >steps.sh
  bash -e steps.sh
  du -sh node_modules
  ACCESS_TOKENS=my-token HOST=127.0.0.1 PORT=3999 node dist/main.js &
  trap "kill $!" EXIT
  answer=$(curl -sS --fail-with-body --retry 300 --retry-delay 1 --retry-connrefused \
    -H 'Authorization: Bearer my-token' -H 'Content-Type: application/json' \
    -d '{"id":1,"name":"Monstera"}' http://127.0.0.1:3999/plants)
  [ "$answer" = '{"name":"Monstera"}' ]
  curl -sS --fail http://127.0.0.1:3999/docs/swagger-ui-bundle.js >/dev/null
  node dist/commands/db-backup.js backup.db
  node dist/commands/db-check.js backup.db
}

# The first command of the README must serve, and SIGTERM must end the program, not only npm. The
# nursery starts by the same command in its folder.
first_command() {
  local url=http://127.0.0.1:3998
  PORT=3998 npm start "$@" &
  trap "kill $!" EXIT
  # The compiler shares the processors with the other lanes.
  curl -sS --fail --retry 300 --retry-delay 1 --retry-connrefused "$url/health/ready"
  kill $!
  trap - EXIT
  wait $! || true
  # npm may end before the program, which a stop gives some seconds.
  for _ in {1..60}; do
    curl -s "$url/health/live" || return 0
    sleep 1
  done
  echo 'SIGTERM to npm start left the program running'
  exit 1
}

# check:static writes documents, and its tests write files for the compiler, so nothing else runs
# beside them in this folder that reads all files.
checks() {
  npm run check:static
  a_year_ahead dated_tests
}

postgres_tests() {
  npm run jest -- --selectProjects postgres --maxWorkers 100%
}

# They use the same port.
first_commands() {
  in_copy first_command
  in_copy first_command --prefix examples/nursery
}

timed() {
  local began=$SECONDS
  "$@"
  echo "$*: $((SECONDS - began)) s"
}

# The steps that run, by their processes.
declare -A running=()
failed=()

# Runs steps, each the words of a command, and prints what they print behind their names. They mostly
# wait for programs, so three at a time fill two cores. After a failure no other one starts.
run_steps() {
  local logs step
  logs=$(mktemp -d)
  trap "rm -r '$logs'" EXIT
  for step in "$@"; do
    [ ${#running[@]} -lt 3 ] || await_step
    [ ${#failed[@]} = 0 ] || break
    # Bash would forget the status of a pipeline.
    timed $step > >(sed -u "s|^|[$step] |" | tee "$logs/${step//\//-}") 2>&1 &
    running[$!]=$step
  done
  while [ ${#running[@]} -gt 0 ]; do await_step; done
  [ ${#failed[@]} -gt 0 ] || return 0
  # The lines of other steps may stand after those that say what failed.
  for step in "${failed[@]}"; do
    grep -E 'FAIL|● |✖|[Ee]rror\b|Expected|Received' "$logs/${step//\//-}" | tail -n 15 || true
    echo "FAILED: $step" >&2
  done
  exit 1
}

await_step() {
  local process
  wait -n -p process "${!running[@]}" || failed+=("${running[$process]}")
  unset "running[$process]"
}
