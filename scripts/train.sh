#!/usr/bin/env bash
# From an empty clone to a trained model: installs the packages, builds dist/paddlet, makes a data set and trains a
# factorization machine on it with a master, two parameter servers and two trainers. Needs no download but the packages.
set -eu
source "$(dirname "$0")/setup.sh"

require_node
install_packages
step 'npm run build'
npm run --silent build

data=$PWD/build/data
step "paddlet data synth (into $data)"
dist/paddlet data synth --output "$data/synth"

step 'paddlet run examples/synth-fm.yaml'
exec dist/paddlet run examples/synth-fm.yaml --data-dir "$data" "$@"
