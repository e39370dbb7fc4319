#include "controller/cli/settings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "kernels/core/text.h"
#include "kernels/core/units.h"

namespace railgauge::cli {
namespace {

constexpr std::size_t kMaxFileBytes = 64U << 10U;

constexpr std::array kFlags{
    Flag{"controller", 0, "ADDRESS",
         "unix:PATH or HOST:PORT [unix:/run/railgauge/controller.sock]"},
    Flag{"tls-cert", 0, "FILE", "certificate of this user, for HOST:PORT"},
    Flag{"tls-key", 0, "FILE", "its private key"},
    Flag{"tls-ca", 0, "FILE", "certificate of the authority that signed the controller's"},
    Flag{"insecure", 0, "", "HOST:PORT without certificates"},
    Flag{"format", 'o', "FORMAT", "table, json, csv or ndjson [table]"},
    Flag{"units", 0, "UNITS", "bits or bytes, for NIC bandwidth in tables [both]"},
    Flag{"timeout", 0, "DURATION", "longest wait for one answer of the controller [15s]"},
    Flag{"config", 0, "FILE", "settings file [/etc/railgauge/railgauge.conf]"},
    Flag{"help", 'h', "", "help for the verb before it, or for all"},
    Flag{"version", 0, "", "the version of this program, then end"},
};
constexpr std::size_t kSettings = 8;  // the first ones are settings, also in variables and files

std::string with_underscores(std::string_view flag) {
  std::string key(flag);
  std::ranges::replace(key, '-', '_');
  return key;
}

std::string variable_name(std::string_view flag) {
  std::string name = "RAILGAUGE_" + with_underscores(flag);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// A setting's text and where it came from, for error messages.
struct Given {
  std::string value;
  std::string source;
};

Result<bool> parse_switch(const Given& given) {
  for (const std::string_view yes : {"true", "1", "yes", "on"})
    if (given.value == yes) return true;
  for (const std::string_view no : {"false", "0", "no", "off"})
    if (given.value == no) return false;
  return fail(Code::kInvalidArgument, fmt::format("{}: {} is neither true nor false", given.source,
                                                  in_quotes(given.value)));
}

Status apply(std::string_view name, const Given& given, Settings& settings) {
  const auto choose = [&](auto parse, std::string_view allowed, auto& target) -> Status {
    const auto parsed = parse(given.value);
    if (!parsed) {
      return fail(Code::kInvalidArgument, fmt::format("{}: {} is none of {}", given.source,
                                                      in_quotes(given.value), allowed));
    }
    target = *parsed;
    return {};
  };
  if (name == "format") return choose(parse_format, "table, json, csv, ndjson", settings.format);
  if (name == "units") return choose(parse_units, "bits, bytes, both", settings.units);
  if (name == "insecure") {
    settings.insecure = RG_TRY(parse_switch(given));
    return {};
  }
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
  if (name == "tls-cert") settings.tls_cert = given.value;
  if (name == "tls-key") settings.tls_key = given.value;
  if (name == "tls-ca") settings.tls_ca = given.value;
  return {};
}

Status check_connection(const Settings& settings) {
  const bool tcp = !settings.controller.starts_with("unix:");
  const bool some_tls =
      !settings.tls_cert.empty() || !settings.tls_key.empty() || !settings.tls_ca.empty();
  const bool all_tls =
      !settings.tls_cert.empty() && !settings.tls_key.empty() && !settings.tls_ca.empty();
  if (!tcp) return {};
  const std::size_t colon = settings.controller.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == settings.controller.size()) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("--controller {}: neither unix:PATH nor HOST:PORT", settings.controller));
  }
  if (settings.insecure && some_tls)
    return fail(Code::kInvalidArgument, "--insecure and certificates exclude each other");
  if (!settings.insecure && !all_tls) {
    return fail(Code::kInvalidArgument,
                fmt::format("--controller {}: TCP needs --tls-cert, --tls-key and --tls-ca, or "
                            "--insecure",
                            settings.controller));
  }
  return {};
}

Result<std::map<std::string, std::string>> read_settings_file(const std::string& path,
                                                              bool must_exist) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (!must_exist && errno == ENOENT) return std::map<std::string, std::string>{};
    return fail(Code::kInvalidArgument, fmt::format("{}: open: {}; --config names another file",
                                                    path, std::strerror(errno)));
  }
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: more than {} bytes are no settings", path, kMaxFileBytes));
  }
  return parse_settings_file(path, text);
}

std::string shell_quoted(const std::string& word) {
  const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./:=@%+,").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

}  // namespace

std::span<const Flag> common_flags() { return kFlags; }

Result<std::map<std::string, std::string>> parse_settings_file(std::string_view file_name,
                                                               std::string_view text) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kSettings; ++i) keys.push_back(with_underscores(kFlags[i].name));
  std::map<std::string, std::string> values;
  int line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++line_number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto bad = [&](const std::string& what) {
      return fail(Code::kInvalidArgument, fmt::format("{}:{}: {}", file_name, line_number, what));
    };
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return bad("no \"key = value\" in this line");
    const std::string key(trim(line.substr(0, equals)));
    std::string_view value = trim(line.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    if (std::ranges::find(keys, key) == keys.end()) {
      return bad(fmt::format("unknown key {}{}; allowed are {}", in_quotes(key),
                             did_you_mean(key, keys), one_of(keys)));
    }
    if (!values.emplace(key, value).second) return bad(fmt::format("{} is given twice", key));
  }
  return values;
}

Result<Settings> resolve_settings(const Arguments& arguments, const Environment& environment) {
  std::string path = arguments.value("config");
  if (path.empty()) path = environment("RAILGAUGE_CONFIG").value_or("");
  const bool named = !path.empty();
  if (!named) path = kDefaultConfig;
  const auto file = RG_TRY(read_settings_file(path, named));
  Settings settings;
  for (std::size_t i = 0; i < kSettings; ++i) {
    const std::string_view name = kFlags[i].name;
    const std::string variable = variable_name(name);
    if (arguments.has(name)) {
      const std::string value = kFlags[i].value.empty() ? "true" : arguments.value(name);
      RG_TRY_OK(apply(name, {value, fmt::format("--{}", name)}, settings));
    } else if (const auto value = environment(variable); value && !value->empty()) {
      RG_TRY_OK(apply(name, {*value, variable}, settings));
    } else if (const auto entry = file.find(with_underscores(name)); entry != file.end()) {
      RG_TRY_OK(apply(name, {entry->second, fmt::format("{}: {}", path, entry->first)}, settings));
    }
  }
  RG_TRY_OK(check_connection(settings));
  return settings;
}

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
