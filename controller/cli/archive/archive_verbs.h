// Verbs that an archive answers in the place of a controller (--archive). Each statement runs in a
// transaction that may only read, and ends at its time limit.
#pragma once

#include <string>

#include "controller/cli/input/arguments.h"
#include "controller/cli/render/output.h"
#include "kernels/core/base/result.h"

namespace railgauge::cli {

struct ArchivePlace {
  std::string url{};   // controller/mirror/pq/url.h
  std::string site{};  // "": all
};

// Runs results, history, findings, runs, runs matrix or sql. kInvalidArgument: another verb, or a
// flag that an archive does not know. Otherwise the errors of the connection.
Result<int> ask_archive(const Arguments& arguments, const ArchivePlace& place,
                        const Output& output);

}  // namespace railgauge::cli
