#!/usr/bin/env bash
# Makes the page's types (web/src/gen/rest.d.ts) from what the REST face says of itself.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

static go test -trimpath -vet=off ./internal/hub -run '^TestThePagesTypes' -count 1 -update
sum=$(sha256sum web/openapi.json)
(cd web && npm run --silent types)
sed -i "1i // Made by scripts/types.sh from the OpenAPI document with the SHA-256 ${sum%% *}. Not written by hand." web/src/gen/rest.d.ts
rm web/openapi.json
