# SPDX-License-Identifier: Apache-2.0
#
# Write OUTPUT, the source of the protocol's identity: the SHA-256 of FILES, one after the other. A step
# of the build, so that an edited message configures nothing anew.
set(text "")
foreach(file ${FILES})
	file(READ ${file} part)
	string(APPEND text "${part}")
endforeach()
string(SHA256 hash "${text}")
string(REGEX REPLACE "(..)" "0x\\1, " bytes "${hash}")
file(WRITE ${OUTPUT}
"#include \"common/ipc/ipc.h\"
const uint8_t ipc_schema_hash[IPC_SCHEMA_BYTES] = { ${bytes} };
")
