#!/bin/sh
# Makes the pictures of the README from the running program: plays the scenes of
# cmd/bot/pictures_test.go in a headless Chromium and writes what is to be seen.
# Needs Go, Chromium and the fonts of Debian's fonts-noto-cjk, fonts-dejavu-core
# and fonts-noto-color-emoji; takes a minute. CI plays the scenes without
# writing anything.
set -eu
cd "$(dirname "$0")/../.."
MAGPIE_TEST_REQUIRE=1 go test ./cmd/bot -run '^TestPictures$' -count=1 -v -pictures "$PWD/docs/pictures"
ls -l docs/pictures
