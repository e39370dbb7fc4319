# cmake -DSOURCE=FOLDER -DGIVEN=COMMIT -DOUT=FILE -P write_commit.cmake: writes FILE when its text changes.
cmake_minimum_required(VERSION 3.25)
set(commit "${GIVEN}")
if(NOT commit)
  execute_process(COMMAND git -C ${SOURCE} rev-parse --short=10 HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                  RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    set(commit unknown)
  else()
    execute_process(COMMAND git -C ${SOURCE} diff --quiet HEAD RESULT_VARIABLE changed ERROR_QUIET)
    if(changed)
      string(APPEND commit "+changes")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#include \"kernels/core/version/commit.h\"

namespace railgauge {
std::string_view build_commit() { return \"@commit@\"; }
}  // namespace railgauge
" @ONLY)
