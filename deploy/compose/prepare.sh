#!/bin/sh
# Creates the secrets and certificates of compose.yaml in ./secrets. Existing ones are kept.
#
# Run it as root, so that each file belongs to the user that reads it in its container. Otherwise, add read permissions
# yourself: the gateway rejects secrets that every user can read.
set -eu
umask 077
cd "$(dirname "$0")"
if [ -e secrets ]; then
  echo "secrets exist already; remove the directory to create new ones" >&2
  exit 0
fi
mkdir secrets.new
cd secrets.new

random() { openssl rand -hex 32; }

password=$(random)
printf %s "$password" > postgres-password
printf %s "postgresql://sluicegate:$password@postgres/sluicegate" > database-url
random > signing-key

id=AKIA$(openssl rand -hex 8 | tr a-f A-F)
secret=$(openssl rand -hex 20)
printf %s "$id" > s3-access-key-id
printf %s "$secret" > s3-secret-access-key
cat > s3.json <<JSON
{"identities": [{"name": "gateway", "credentials": [{"accessKey": "$id", "secretKey": "$secret"}],
  "actions": ["Read:lake", "List:lake", "Write:lake", "Admin:lake"]}]}
JSON

client=$(random)
printf %s "$client" > oidc-client-secret
cat > realm.json <<JSON
{"realm": "partners", "enabled": true, "clients": [{"clientId": "acme-reports", "secret": "$client",
  "serviceAccountsEnabled": true, "standardFlowEnabled": false, "publicClient": false, "protocolMappers": [{
    "name": "audience", "protocol": "openid-connect", "protocolMapper": "oidc-audience-mapper",
    "config": {"included.custom.audience": "sluicegate", "access.token.claim": "true"}}]}]}
JSON

openssl req -x509 -newkey rsa:2048 -nodes -days 825 -subj "/CN=Sluicegate trial" \
  -addext "basicConstraints=critical,CA:TRUE" -keyout ca.key -out ca.pem 2>/dev/null
openssl req -newkey rsa:2048 -nodes -subj "/CN=issuer" -keyout issuer.key -out issuer.csr 2>/dev/null
printf 'subjectAltName=DNS:issuer,DNS:localhost\nextendedKeyUsage=serverAuth\n' > issuer.ext
openssl x509 -req -in issuer.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 825 -extfile issuer.ext \
  -out issuer.pem 2>/dev/null
rm issuer.csr issuer.ext

if [ "$(id -u)" = 0 ]; then
  chown 10001 database-url signing-key s3-access-key-id s3-secret-access-key ca.pem
  chown 1000 s3.json realm.json issuer.pem issuer.key # the users of SeaweedFS and Keycloak
fi
cd ..
mv secrets.new secrets
echo "created secrets"
