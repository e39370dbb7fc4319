#include "controller/cli/input/settings.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/api/controller_list.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

constexpr std::array kFlags{
    Flag{"controller", 0, "ADDRESS",
         "unix:PATH or HOST:PORT; of a site with several controllers all of them, with commas "
         "[unix:/run/railgauge/controller.sock]"},
    Flag{"archive", 0, "ADDRESS",
         "postgres://USER@HOST/NAME: ask the archive of all sites, not a controller"},
    Flag{"site", 0, "NAME", "of an archive: this site alone [all]"},
    Flag{"tls-cert", 0, "FILE", "certificate of this user, for HOST:PORT"},
    Flag{"tls-key", 0, "FILE", "its private key"},
    Flag{"tls-ca", 0, "FILE", "certificate of the authority that signed the controller's"},
    Flag{"insecure", 0, "", "HOST:PORT without certificates"},
    Flag{"format", 'o', "FORMAT",
         "table (or text), json, csv, ndjson; of a report also md, html [table]"},
    Flag{"units", 0, "UNITS", "bits or bytes, for NIC bandwidth in tables [both]"},
    Flag{"timeout", 0, "DURATION", "longest wait for one answer of the controller [15s]"},
    Flag{"config", 0, "FILE", "settings file [/etc/railgauge/railgauge.conf]"},
    Flag{"full", 0, "", "every line on a terminal too, which gets 60 [a pipe and a file get all]"},
    Flag{"quiet", 0, "", "results and errors alone: no progress, no notes"},
    Flag{"help", 'h', "", "help for the verb before it, or for all"},
    Flag{"version", 0, "", "the version of this program, then end"},
};
constexpr std::size_t kSettings = 10;  // the first ones are settings, also in variables and files

// The words that a variable or a file may use for a switch.
Result<bool> parse_switch(const Setting& given) {
  for (const std::string_view yes : {"true", "1", "yes", "on"})
    if (given.value == yes) return true;
  for (const std::string_view no : {"false", "0", "no", "off"})
    if (given.value == no) return false;
  return fail(Code::kInvalidArgument, fmt::format("{}: {} is neither true nor false", given.source,
                                                  in_quotes(given.value)));
}

// Sets one setting from its text. Errors: kInvalidArgument with the flag, variable or line that
// gave it.
Status apply(std::string_view name, const Setting& given, Settings& settings) {
  const auto choose = [&](auto parse, const std::vector<std::string>& allowed,
                          auto& target) -> Status {
    const auto parsed = parse(given.value);
    if (!parsed)
      return fail(Code::kInvalidArgument,
                  fmt::format("{}: {} is none of {}{}", given.source, in_quotes(given.value),
                              fmt::join(allowed, ", "), did_you_mean(given.value, allowed)));
    target = *parsed;
    return {};
  };
  if (name == "format")
    return choose(parse_format, {"table", "text", "json", "csv", "ndjson", "md", "html"},
                  settings.format);
  if (name == "units") return choose(parse_units, {"bits", "bytes", "both"}, settings.units);
  if (name == "insecure") {
    settings.insecure = RG_TRY(parse_switch(given));
    return {};
  }
  // A deadline of 0 would end every call before it began.
  if (name == "timeout") {
    const auto ns = parse_duration_ns(given.value);
    if (!ns) return fail(ns.error().code, fmt::format("{}: {}", given.source, ns.error().message));
    if (*ns <= 0)
      return fail(Code::kInvalidArgument, fmt::format("{}: must be above 0", given.source));
    settings.answer_seconds = *ns / 1e9;
    return {};
  }
  if (given.value.empty())
    return fail(Code::kInvalidArgument, fmt::format("{} is empty", given.source));
  if (name == "controller") settings.controller = given.value;
  if (name == "archive") settings.archive = given.value;
  if (name == "site") settings.site = given.value;
  if (name == "tls-cert") settings.tls_cert = given.value;
  if (name == "tls-key") settings.tls_key = given.value;
  if (name == "tls-ca") settings.tls_ca = given.value;
  return {};
}

// TCP needs certificates or --insecure; a unix socket checks its peer by itself.
Status check_connection(const Settings& settings) {
  // Certificates count only for TCP, and only all three together.
  const std::vector<std::string> controllers = api::controllers_of(settings.controller);
  const auto is_tcp = [](const std::string& address) { return !address.starts_with("unix:"); };
  const bool tcp = std::ranges::any_of(controllers, is_tcp);
  const auto files = {&settings.tls_cert, &settings.tls_key, &settings.tls_ca};
  const bool some_tls = !std::ranges::all_of(files, [](const auto* file) { return file->empty(); });
  const bool all_tls = std::ranges::none_of(files, [](const auto* file) { return file->empty(); });
  if (!tcp) return {};
  for (const std::string& address : controllers) {
    const std::size_t colon = address.rfind(':');
    if (is_tcp(address) &&
        (colon == std::string::npos || colon == 0 || colon + 1 == address.size()))
      return fail(Code::kInvalidArgument,
                  fmt::format("--controller {}: neither unix:PATH nor HOST:PORT", address));
  }
  if (settings.insecure && some_tls)
    return fail(Code::kInvalidArgument, "--insecure and certificates exclude each other");
  if (!settings.insecure && !all_tls)
    return fail(Code::kInvalidArgument,
                fmt::format("--controller {}: TCP needs --tls-cert, --tls-key and --tls-ca, or "
                            "--insecure",
                            settings.controller));
  return {};
}

}  // namespace

std::span<const Flag> common_flags() { return kFlags; }

// The file first, then for each setting flag, variable and file in this order.
Result<Settings> resolve_settings(const Arguments& arguments, const Environment& environment) {
  std::string path = arguments.value("config");
  if (path.empty()) path = environment("RAILGAUGE_CONFIG").value_or("");
  const bool named = !path.empty();
  if (!named) path = kDefaultConfig;
  std::vector<std::string> names;
  // A line of the file with any other key is an error.
  for (std::size_t i = 0; i < kSettings; ++i) names.emplace_back(kFlags[i].name);
  const auto file = RG_TRY(read_settings_file(path, names, named));
  // An empty variable counts as none.
  const Environment set = [&](const std::string& name) {
    const auto value = environment(name);
    return value && !value->empty() ? value : std::nullopt;
  };
  Settings settings;
  for (std::size_t i = 0; i < kSettings; ++i) {
    const std::string_view name = kFlags[i].name;
    std::optional<std::string> flag;
    if (arguments.has(name)) flag = kFlags[i].value.empty() ? "true" : arguments.value(name);
    if (const auto given = given_setting(name, flag, set, file))
      RG_TRY_OK(apply(name, *given, settings));
  }
  // A verb that calls nobody works before there are certificates; some of them make these.
  if (arguments.verb == nullptr || !arguments.verb->is_local) RG_TRY_OK(check_connection(settings));
  return settings;
}

// Only connection flags: format and units do not matter to the command that a person pastes.
std::string same_invocation(const Settings& settings) {
  std::string text = "railgauge";
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) text += fmt::format(" --{} {}", flag, shell_quoted(value));
  };
  if (settings.controller != kDefaultController) add("controller", settings.controller);
  add("tls-cert", settings.tls_cert);
  add("tls-key", settings.tls_key);
  add("tls-ca", settings.tls_ca);
  if (settings.insecure) text += " --insecure";
  return text;
}

}  // namespace railgauge::cli
