#!/bin/sh
# Makes what nats.conf includes: a key for each role, its secret half in
# FOLDER/<role>/seed for bus.creds_file, the public halves, the password of the
# routes and the routes themselves in FOLDER/server/keys.conf. What is there
# already stays.
#
#	keys.sh FOLDER nats1:6222 nats2:6222 nats3:6222
#
# It needs nk: go build github.com/nats-io/nkeys/nk
set -eu
umask 077
folder=$1
shift

mkdir -p "$folder/server"
for role in gateway agent cron admin; do
	mkdir -p "$folder/$role"
	if [ ! -s "$folder/$role/seed" ]; then
		nk -gen user >"$folder/$role/seed.new"
		mv "$folder/$role/seed.new" "$folder/$role/seed"
	fi
done
if [ ! -s "$folder/server/password" ]; then
	od -An -N24 -tx1 /dev/urandom | tr -d ' \n' >"$folder/server/password.new"
	mv "$folder/server/password.new" "$folder/server/password"
fi

public() { nk -inkey "$folder/$1/seed" -pubout; }
password=$(cat "$folder/server/password")
{
	echo "GATEWAY_KEY: \"$(public gateway)\""
	echo "AGENT_KEY: \"$(public agent)\""
	echo "CRON_KEY: \"$(public cron)\""
	echo "ADMIN_KEY: \"$(public admin)\""
	echo "ROUTE_PASSWORD: \"$password\""
	echo 'ROUTES: ['
	for server in "$@"; do
		echo "  \"nats://route:$password@$server\""
	done
	echo ']'
} >"$folder/server/keys.conf.new"
mv "$folder/server/keys.conf.new" "$folder/server/keys.conf"
echo "the keys are in $folder"
