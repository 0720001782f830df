# SPDX-License-Identifier: Apache-2.0
#
# cmake -D FURROW=bin/furrow -D OUTPUT=furrow.1.gz -P ManPage.cmake: the man page, from the command's own help. Not
# help2man: it knows one help text, and ours are one per subcommand.
function(ask variable)
  execute_process(COMMAND ${FURROW} ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE code)
  if(NOT code EQUAL 0 OR text STREQUAL "")
    message(FATAL_ERROR "${FURROW} ${ARGN}: exit code ${code}, no help to make a man page of")
  endif()
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# Text as it is, for troff: backslashes and dashes are characters, and no line is a request.
function(verbatim variable text)
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" text "${text}")
  set(${variable} "${${variable}}.nf\n${text}.fi\n" PARENT_SCOPE)
endfunction()

ask(version version)
string(STRIP "${version}" version)
ask(overview help)
set(page ".\\\" Made by ManPage.cmake from 'furrow help'.\n.TH FURROW 1 \"\" \"${version}\" \"User Commands\"\n")
string(APPEND page ".SH NAME\nfurrow \\- make, inspect and picture zoned devices that hold RocksDB's files\n"
  ".SH SYNOPSIS\n.B furrow\n.I COMMAND\n[flags] [\\fIURI\\fR] ...\n.SH DESCRIPTION\n")
verbatim(page "${overview}")

string(APPEND page ".SH COMMANDS\n")
string(REGEX MATCHALL "\n  [a-z][a-z-]*  " names "${overview}")
foreach(name IN LISTS names)
  string(STRIP "${name}" name)
  ask(help help ${name})
  string(APPEND page ".SS ${name}\n")
  verbatim(page "${help}")
endforeach()

string(APPEND page ".SH ENVIRONMENT\n.TP\n.B FURROW_URI\nThe URI, where none is given.\n"
  ".TP\n.B NO_COLOR\nIf set, no colours.\n"
  ".SH FILES\n.TP\n.I /dev/shm/furrow\\-stage\\-*\nWhat processes have written and not yet synced; \\fBfurrow settle\\fR "
  "brings those of dead processes to their devices.\n"
  ".SH SEE ALSO\n.I /usr/share/doc/furrow\n")

string(REGEX REPLACE "\\.gz$" "" plain ${OUTPUT})
file(WRITE ${plain} "${page}")
execute_process(COMMAND gzip -9nf ${plain} RESULT_VARIABLE code)  # -n: no time stamp, the same bytes from the same text
if(NOT code EQUAL 0)
  message(FATAL_ERROR "gzip -9nf ${plain}: exit code ${code}")
endif()
