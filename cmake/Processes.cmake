# SPDX-License-Identifier: Apache-2.0

# msp_link_static_program(NAME): what the program NAME, or a part of one, is built with: static musl.
# It sees the sources' folder, common/ and nothing else.
function(msp_link_static_program name)
	target_compile_options(${name} PRIVATE -ffunction-sections -fdata-sections)
	if(MSP_STATIC)
		target_link_libraries(${name} PRIVATE msp_flags msp_musl msp_common_static)
	else()
		target_link_libraries(${name} PRIVATE msp_flags msp_common)
	endif()
endfunction()

# msp_include_root(RESULT): a folder that shows the current one to others as `#include "PATH/x.h"`, with
# its path in the tree.
function(msp_include_root result)
	file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
	string(REPLACE "/" "-" name ${path})
	set(root ${CMAKE_BINARY_DIR}/include-${name})
	get_filename_component(family ${root}/${path} DIRECTORY)
	file(MAKE_DIRECTORY ${family})
	file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${path} SYMBOLIC)
	set(${result} ${root} PARENT_SCOPE)
endfunction()

# msp_static_twin(NAME SOURCES...): with MSP_STATIC the library NAME_static, for static programs. It shows
# the same folders, and is linked with the twins of the same libraries.
function(msp_static_twin name)
	if(MSP_STATIC)
		get_target_property(libraries ${name} INTERFACE_LINK_LIBRARIES)
		add_library(${name}_static STATIC ${ARGN})
		target_include_directories(${name}_static
			PUBLIC $<TARGET_PROPERTY:${name},INTERFACE_INCLUDE_DIRECTORIES>
			PRIVATE $<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>)
		target_compile_options(${name}_static PRIVATE -ffunction-sections -fdata-sections)
		target_link_libraries(${name}_static PRIVATE msp_flags msp_musl)
		foreach(library IN LISTS libraries)
			set(users PUBLIC)
			if(library MATCHES "^.<LINK_ONLY:(.+)>$")
				set(library ${CMAKE_MATCH_1})
				set(users PRIVATE)
			endif()
			target_link_libraries(${name}_static ${users}
				$<TARGET_NAME_IF_EXISTS:${library}_static>)
		endforeach()
	endif()
endfunction()

# msp_link_twins(NAME LIBRARIES...): link NAME with libraries, or with the static twins that they have,
# wherever these are defined.
function(msp_link_twins name)
	foreach(library IN LISTS ARGN)
		target_link_libraries(${name} PRIVATE
			$<IF:$<TARGET_EXISTS:${library}_static>,${library}_static,${library}>)
	endforeach()
endfunction()

# msp_static_program(NAME SOURCES...): a process of the trusted side.
function(msp_static_program name)
	add_executable(${name} ${ARGN})
	msp_link_static_program(${name})
endfunction()

# msp_sources_that_name(RESULT REGEX SOURCES...): the sources with a line that matches.
function(msp_sources_that_name result regex)
	set(found)
	foreach(source IN LISTS ARGN)
		file(STRINGS ${source} lines REGEX "${regex}" LIMIT_COUNT 1)
		if(lines)
			list(APPEND found ${source})
		endif()
	endforeach()
	set(${result} ${found} PARENT_SCOPE)
endfunction()

# msp_objects_without(RESULT TARGET SOURCES...): the objects of TARGET but those of SOURCES, for a
# program that differs from it in these.
function(msp_objects_without result target)
	set(objects "$<TARGET_OBJECTS:${target}>")
	foreach(source IN LISTS ARGN)
		get_filename_component(name ${source} NAME)
		string(REPLACE "." "[.]" name ${name})
		set(objects "$<FILTER:${objects},EXCLUDE,/${name}[.]o$>")
	endforeach()
	set(${result} ${objects} PARENT_SCOPE)
endfunction()

# msp_seccomp_filter(TARGET LIST [NAME]): build LIST (a .def of SYSCALL lines) into a header that
# TARGET can include as "NAME.h" ("seccomp_filter.h"). tests/attack tries each.
function(msp_seccomp_filter target list)
	set(name seccomp_filter)
	set(generator ${target}-filtergen)
	if(ARGC GREATER 2)
		set(name ${ARGV2})
		set(generator ${target}-${name}gen)
	endif()
	set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated-${target})
	add_executable(${generator} ${CMAKE_SOURCE_DIR}/policy/write/filtergen.c)
	set_target_properties(${generator} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tools)
	target_compile_definitions(${generator} PRIVATE
		FILTER_LIST="${CMAKE_CURRENT_SOURCE_DIR}/${list}")
	target_link_libraries(${generator} PRIVATE msp_flags msp_policy_lib)
	add_custom_command(
		OUTPUT ${folder}/${name}.h
		COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
		COMMAND ${generator} ${folder}/${name}.h
		DEPENDS ${generator} ${list})
	target_sources(${target} PRIVATE ${folder}/${name}.h)
	target_include_directories(${target} PRIVATE ${folder})
	add_custom_target(${generator}-header DEPENDS ${folder}/${name}.h)
	if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/")
		return() # a test of a program's list, which has a filter of its own
	endif()
	string(REGEX REPLACE "seccomp_|_?filter$" "" part ${name})
	string(REGEX REPLACE "-$" "" program "${target}-${part}")
	set_property(GLOBAL APPEND PROPERTY MSP_FILTERS
		"${program}|${CMAKE_CURRENT_SOURCE_DIR}/${list}|${folder}/${name}.h|${generator}-header")
endfunction()
