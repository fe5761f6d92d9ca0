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

# msp_static_program(NAME SOURCES...): a process of the trusted side.
function(msp_static_program name)
	add_executable(${name} ${ARGN})
	msp_link_static_program(${name})
endfunction()

# msp_seccomp_filter(TARGET LIST [NAME]): build LIST (a .def of SYSCALL lines) into a header that
# TARGET can include as "NAME.h" ("seccomp_filter.h").
function(msp_seccomp_filter target list)
	set(name seccomp_filter)
	set(generator ${target}-filtergen)
	if(ARGC GREATER 2)
		set(name ${ARGV2})
		set(generator ${target}-${name}gen)
	endif()
	set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated-${target})
	add_executable(${generator} ${CMAKE_SOURCE_DIR}/policy/filtergen.c)
	set_target_properties(${generator} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tools)
	target_compile_definitions(${generator} PRIVATE
		FILTER_LIST="${CMAKE_CURRENT_SOURCE_DIR}/${list}")
	target_link_libraries(${generator} PRIVATE msp_policy_lib)
	add_custom_command(
		OUTPUT ${folder}/${name}.h
		COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
		COMMAND ${generator} ${folder}/${name}.h
		DEPENDS ${generator} ${list})
	target_sources(${target} PRIVATE ${folder}/${name}.h)
	target_include_directories(${target} PRIVATE ${folder})
endfunction()
