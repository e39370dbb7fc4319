// Settings of the CLI: the controller's address and the output. A flag takes precedence over a
// variable, a variable over the file, the file over the default.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/cli/input/arguments.h"
#include "controller/cli/render/output.h"
#include "kernels/core/base/result.h"
#include "kernels/core/text/settings_file.h"

namespace railgauge::cli {

inline constexpr std::string_view kDefaultConfig = "/etc/railgauge/railgauge.conf";
inline constexpr std::string_view kDefaultController = "unix:/run/railgauge/controller.sock";

struct Settings {
  std::string controller{kDefaultController};  // "unix:PATH" or "HOST:PORT", or several
  std::string archive{};                       // postgres:// of an archive; "": the controller
  std::string site{};                          // of an archive; "": all sites
  std::string tls_cert;                        // files; all three or none
  std::string tls_key;
  std::string tls_ca;
  bool insecure = false;  // TCP without certificates
  Format format = Format::kTable;
  Units units = Units::kBoth;
  double answer_seconds = 15;  // deadline of one call
};

// Returns the flags of all verbs: those of the settings above, --config, --help and --version.
std::span<const Flag> common_flags();

// Reads the file that --config or RAILGAUGE_CONFIG names (it must exist), else kDefaultConfig where
// it exists. Errors: kInvalidArgument, naming flag, variable or file and line, and what is allowed.
Result<Settings> resolve_settings(const Arguments& arguments, const Environment& environment);

// Returns the command with which a person reaches the same controller from any shell: "railgauge"
// with the connection flags of `settings`, quoted where a shell needs quotes.
std::string same_invocation(const Settings& settings);

}  // namespace railgauge::cli
