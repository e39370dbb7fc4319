// NCCL's table: binding, the oldest release that is accepted, and the meaning of its results.
#include "kernels/dl/nccl.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/text/text.h"
#include "kernels/dl/table.h"

namespace railgauge {
namespace {

TableLoader<Nccl> g_nccl;

// Bytes of the library's own words in one error line.
constexpr std::size_t kMaxWords = 300;

// The enumeration is ncclResult_t of nccl.h.
Code code_of_nccl(nc::Return returned) {
  switch (returned) {
    case nc::kRemoteError:
      return Code::kUnavailable;
    case nc::kInvalidArgument:
    case nc::kInvalidUsage:
      return Code::kInvalidArgument;
    default:
      return Code::kInternal;
  }
}

// The library's own words in one line: control characters become blanks, blanks and periods at the
// end are cut.
std::string last_words(const Nccl& nccl, nc::Comm comm) {
  const char* words = nccl.get_last_error != nullptr ? nccl.get_last_error(comm) : nullptr;
  std::string line = valid_utf8(words != nullptr ? words : "");
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  while (!line.empty() && (line.back() == ' ' || line.back() == '.')) line.pop_back();
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return valid_utf8(line.substr(begin, kMaxWords));
}

// RCCL where no NCCL is here. Without either the error is NCCL's.
Result<Nccl> bind_nccl_or_rccl(const std::string& name) {
  auto nccl = bind_nccl(name);
  if (nccl || nccl.error().code != Code::kNotFound || name != kNcclLibrary) return nccl;
  if (auto rccl = bind_nccl(kRcclLibrary)) return rccl;
  return nccl;
}

}  // namespace

std::string nccl_release(int code) {
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

// The version is read first, so that an old library is refused by its release and not by a missing
// function.
Result<Nccl> bind_nccl(const std::string& name) {
  const Library library = RG_TRY(Library::open(
      name, "NCCL", fmt::format("install libnccl2, or name its file in {}", kNcclLibraryVariable)));
  Nccl table;
  RAILGAUGE_BIND(get_version, ncclGetVersion)
  if (table.get_version(&table.version_code) != nc::kSuccess)
    return fail(Code::kInternal, library.path() + ": ask its version: no answer");
  if (table.version_code < nc::kOldest)
    return fail(Code::kUnimplemented,
                fmt::format("{}: it is NCCL {}; 2.18 or later is needed", library.path(),
                            nccl_release(table.version_code)));
  RAILGAUGE_NCCL_REQUIRED(RAILGAUGE_BIND)
  RAILGAUGE_NCCL_OPTIONAL(RAILGAUGE_FIND)
  RAILGAUGE_NCCL_DEVICE(RAILGAUGE_FIND)
  describe_library(library, kSyntheticNcclMarker, table);
  table.version = nccl_release(table.version_code);
  return table;
}

Result<const Nccl*> load_nccl() {
  return g_nccl.load(bind_nccl_or_rccl, kNcclLibrary, kNcclLibraryVariable);
}

const Nccl& loaded_nccl() { return g_nccl.loaded(); }

// ncclGetLastError names the cause, which ncclGetErrorString does not know.
Status nccl_status(const Nccl& nccl, nc::Return returned, std::string_view act, nc::Comm comm) {
  if (returned == nc::kSuccess) return {};
  const char* words = nccl.get_error_string(returned);
  std::string line = fmt::format("{}: {} (NCCL error {})", act,
                                 words != nullptr ? words : "no description", returned);
  if (const std::string last = last_words(nccl, comm); !last.empty()) line += ": " + last;
  return fail(code_of_nccl(returned), std::move(line));
}

}  // namespace railgauge
