# SPDX-License-Identifier: Apache-2.0
#
# Warnings and hardening for every target. Flags are probed: gcc 12 and clang 14 differ.
# A handler in a table has the parameters of its table, used or not.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)

set(MSP_WARNINGS
	-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes
	-Wmissing-prototypes -Wundef -Wcast-qual -Wcast-align -Wpointer-arith -Wwrite-strings -Wvla
	-Wformat=2 -Wimplicit-fallthrough -Wnull-dereference -Wdouble-promotion
	-Wno-unused-parameter)
set(MSP_WARNINGS_OF_GCC
	-Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wtrampolines -Wbidi-chars=any)
set(MSP_HARDENING
	-fstack-protector-strong -fstack-clash-protection -fcf-protection=full
	-ftrivial-auto-var-init=zero -fno-delete-null-pointer-checks -fno-strict-overflow
	-fno-strict-aliasing -fvisibility=hidden -fPIE -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)

add_library(msp_flags INTERFACE)
foreach(flags IN ITEMS MSP_WARNINGS MSP_WARNINGS_OF_GCC MSP_HARDENING)
	# All at once, as a probe takes most of a second; each by itself if the compiler lacks one.
	string(JOIN " " all ${${flags}})
	check_c_compiler_flag("${all}" HAVE_${flags})
	foreach(flag IN LISTS ${flags})
		set(variable HAVE_${flags})
		if(NOT HAVE_${flags})
			string(MAKE_C_IDENTIFIER "HAVE${flag}" variable)
			check_c_compiler_flag(${flag} ${variable})
		endif()
		if(${variable})
			target_compile_options(msp_flags INTERFACE ${flag})
		endif()
	endforeach()
endforeach()
if(MSP_WERROR)
	target_compile_options(msp_flags INTERFACE -Werror)
endif()
target_compile_definitions(msp_flags INTERFACE _GNU_SOURCE MSP_VERSION="${PROJECT_VERSION}")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
	target_compile_options(msp_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
target_link_options(msp_flags INTERFACE -pie -Wl,-z,relro,-z,now -Wl,-z,noexecstack)

# Static musl: the compiler with musl's spec file is what musl-gcc is. The kernel's headers come
# last, so that musl's own win. The same sources are built against glibc for the unit tests, where
# -Wconversion counts; musl's socket macros do not pass it.
set(MSP_MUSL_SPECS /usr/lib/x86_64-linux-musl/musl-gcc.specs)
add_library(msp_musl INTERFACE)
target_compile_options(msp_musl INTERFACE -specs=${MSP_MUSL_SPECS}
	-Wno-conversion -Wno-sign-conversion
	"SHELL:-idirafter /usr/include" "SHELL:-idirafter /usr/include/x86_64-linux-gnu")
# The spec file knows no static PIE: it is static linking with musl's self-relocating start file.
set(MSP_MUSL_LIBRARIES /usr/lib/x86_64-linux-musl)
target_link_options(msp_musl INTERFACE -specs=${MSP_MUSL_SPECS} -static -nostartfiles
	-Wl,-pie,--no-dynamic-linker,-z,text,--gc-sections,--sort-section=alignment
	$<$<CONFIG:Release>:-Wl,-s> ${MSP_MUSL_LIBRARIES}/rcrt1.o ${MSP_MUSL_LIBRARIES}/crti.o)
target_link_libraries(msp_musl INTERFACE ${MSP_MUSL_LIBRARIES}/crtn.o)
if(MSP_STATIC AND NOT EXISTS ${MSP_MUSL_SPECS})
	message(FATAL_ERROR "musl-gcc is missing: run ./dev setup, or install the package musl-tools")
endif()
