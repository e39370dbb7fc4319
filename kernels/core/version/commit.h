// The commit that a program was built from. One generated source defines it, so that a new commit
// compiles one file and links the programs anew, and nothing else.
#pragma once

#include <string_view>

namespace railgauge {

// Ten digits of the commit, with "+changes" when tracked files differed from it; "unknown" when the
// source was no checkout and RAILGAUGE_COMMIT was not set at configuration.
std::string_view build_commit();

}  // namespace railgauge
