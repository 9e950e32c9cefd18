#!/bin/sh
# Creates an authority, and certificates for the parts of a deployment:
#   certificates.sh DIRECTORY [NAME...]      names of hosts; entry, postgres and nats unless given
# Certificates that exist are kept. For a cluster use cert-manager or the authority of your organization.
set -eu
directory=${1:?name a directory}
shift
[ $# -gt 0 ] || set -- entry postgres nats
umask 077
mkdir -p "$directory"
cd "$directory"
if [ ! -f ca.key ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
    -subj "/CN=noetl deployment" -addext "basicConstraints=critical,CA:TRUE" \
    -addext "keyUsage=critical,keyCertSign,cRLSign" -keyout ca.key -out ca.pem
fi
for name in "$@"; do
  [ ! -f "$name.key" ] || continue
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$name" \
    -keyout "$name.key" -out "$name.csr"
  printf 'subjectAltName=DNS:%s,DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n' "$name" > "$name.ext"
  openssl x509 -req -in "$name.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 365 \
    -extfile "$name.ext" -out "$name.pem"
  rm "$name.csr" "$name.ext"
done
chmod 644 ./*.pem
