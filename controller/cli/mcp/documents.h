// The documents that tools answer with: THE lists of what each can be asked for, and the calls
// behind each.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "controller/cli/mcp/reads.h"
#include "controller/cli/mcp/window.h"
#include "kernels/core/base/result.h"

namespace railgauge::cli::mcp {

// The checked arguments of one call.
struct Wanted {
  std::map<std::string, std::string, std::less<>> texts{};
  Window window{};
  // "" where it was not given.
  [[nodiscard]] std::string text(std::string_view name) const {
    const auto found = texts.find(name);
    return found == texts.end() ? "" : found->second;
  }
};

// One value of the argument `what`. A new one needs its row in documents.cc alone: schema,
// description and checks of arguments read nothing else.
struct Thing {
  std::string_view what;
  std::string_view summary;
  std::string_view needs;  // arguments, with blanks between them
  std::string_view takes;  // likewise, that may be left out
  // Makes the calls. Errors: those of the calls; kInvalidArgument for a time or number that is
  // none.
  Result<Document> (*read)(Reads& reads, const Wanted& wanted);
};

// The things of each tool, in the order in which its description has them. Immutable.
std::span<const Thing> listed();
std::span<const Thing> shown();
std::span<const Thing> compared();
std::span<const Thing> reported();

}  // namespace railgauge::cli::mcp
