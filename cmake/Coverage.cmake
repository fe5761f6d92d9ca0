# SPDX-License-Identifier: Apache-2.0
#
# Line coverage of everything that a test starts, also of what is confined, killed or static: see
# tests/coverage/counters.c. tests/coverage/run.py reads the counts.
#
# fork and exec stay themselves: the compiler's own versions set counters back.
set(MSP_COUNTERS ${CMAKE_SOURCE_DIR}/tests/coverage/counters)
add_compile_options(
	-fprofile-arcs -ftest-coverage -fprofile-info-section -fprofile-update=atomic
	-fprofile-exclude-files=tests/ -fdata-sections
	-fno-builtin-fork -fno-builtin-execl -fno-builtin-execlp -fno-builtin-execle
	-fno-builtin-execv -fno-builtin-execvp -fno-builtin-execve)
add_link_options(-T ${MSP_COUNTERS}.ld)

# Give every program of a folder and below its file of counters.
function(msp_cover_folder folder)
	get_property(programs DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
	foreach(program IN LISTS programs)
		get_target_property(type ${program} TYPE)
		if(type STREQUAL "EXECUTABLE")
			target_sources(${program} PRIVATE ${MSP_COUNTERS}.c)
			target_compile_definitions(${program} PRIVATE
				COVERAGE_FILE="${CMAKE_BINARY_DIR}/counters/${program}")
			target_link_libraries(${program} PRIVATE gcov)
			set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS ${MSP_COUNTERS}.ld)
			set_property(GLOBAL APPEND_STRING PROPERTY MSP_PROGRAMS
				"${program}\t$<TARGET_FILE:${program}>\n")
		endif()
	endforeach()
	get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
	foreach(below IN LISTS folders)
		msp_cover_folder(${below})
	endforeach()
endfunction()

# msp_coverage(): every program of the build; counters.tsv lists them: NAME, FILE.
function(msp_coverage)
	file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/counters)
	msp_cover_folder(${CMAKE_SOURCE_DIR})
	get_property(programs GLOBAL PROPERTY MSP_PROGRAMS)
	file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/counters.tsv CONTENT "${programs}")
endfunction()
