// Readers of short foreign texts: pages of metrics, addresses, schedules, times, sizes, settings,
// series, files of sysfs and /proc, lines of the kernel's log, the HTTP port's settings and
// credentials. The first byte chooses the reader.
// Properties: what is accepted reads the same after it was written out; what a reader writes is fit
// for its place (a line, JSON, a shell); a secret never leaves a bundle.
#include <array>
#include <cmath>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "agent/inventory/facts/rdma_handles.h"
#include "agent/inventory/sources/node_files.h"
#include "agent/preflight/rules/version.h"
#include "agent/watch/counters.h"
#include "agent/watch/kernel_log.h"
#include "controller/cli/bundle/redact.h"
#include "controller/cli/input/series_file.h"
#include "controller/http/basic_auth.h"
#include "controller/http/web_config.h"
#include "controller/listen/host_port.h"
#include "controller/metric/exposition.h"
#include "controller/schedule/cron.h"
#include "deploy/fuzz/properties.h"
#include "kernels/core/group/tcp.h"
#include "kernels/core/mpi_installations.h"
#include "kernels/core/params.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/settings_file.h"
#include "kernels/core/text/units.h"

namespace railgauge::fuzz {
namespace {

// --- addresses
// ------------------------------------------------------------------------------------

void check_addresses(std::string_view text) {
  const auto listened = parse_host_port("tls-listen", text);
  check_error(listened);
  if (listened) {
    FUZZ_CHECK(!listened->host.empty() && listened->port >= 0 && listened->port <= 65'535, text);
    const bool six = listened->host.find(':') != std::string::npos;
    const auto again =
        parse_host_port("x", six ? fmt::format("[{}]:{}", listened->host, listened->port)
                                 : fmt::format("{}:{}", listened->host, listened->port));
    FUZZ_CHECK(again && again->host == listened->host && again->port == listened->port, text);
  }
  check_error(parse_listen_address(text));
  const auto peer = parse_connect_address(text, 7'479);
  check_error(peer);
  if (!peer || peer->host.find_first_of("[]") != std::string::npos) return;  // never resolves
  const auto again = parse_connect_address(to_string(*peer), 1);
  FUZZ_CHECK(again && again->host == peer->host && again->port == peer->port, text);
}

// --- metrics
// --------------------------------------------------------------------------------------

// A label's value as Prometheus' text format writes it.
std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

void check_exposition(std::string_view page) {
  const auto samples = metric::read_exposition(page);
  FUZZ_CHECK(samples.size() <= static_cast<std::size_t>(std::ranges::count(page, '\n')) + 1, page);
  static_cast<void>(metric::outside_catalog(page, metric::Owner::kController));
  std::string value(page.substr(0, 60));
  std::erase(value, '\n');
  const auto read =
      metric::read_exposition(fmt::format("m{{a=\"{}\",b=\"2\"}} 1.5\n", escaped(value)));
  FUZZ_CHECK(read.size() == 1 && read[0].labels.size() == 2, value);
  FUZZ_CHECK(read[0].name == "m" && read[0].value == "1.5" && read[0].labels.at("a") == value &&
                 read[0].labels.at("b") == "2",
             value);
}

// --- times
// ----------------------------------------------------------------------------------------

void check_cron(std::string_view text) {
  const auto cron = run::parse_cron(text);
  check_error(cron);
  if (!cron) return;
  FUZZ_CHECK(std::ranges::is_sorted(cron->minutes_of_day) && !cron->minutes_of_day.empty(), text);
  static const auto* const utc = [] {
    auto zone = run::TimeZone::find("UTC");
    FUZZ_CHECK(zone, error_of(zone));
    return new run::TimeZone(*zone);
  }();
  double after = 1.7e9;
  for (int i = 0; i < 3; ++i) {
    const auto due = run::next_due(*cron, *utc, after);
    if (!due) return;
    FUZZ_CHECK(*due > after, text);
    const run::WallTime wall = utc->wall_time(*due);
    FUZZ_CHECK(cron->has_day(wall.day), text);
    FUZZ_CHECK(std::ranges::binary_search(cron->minutes_of_day, wall.minute), text);
    FUZZ_CHECK(std::fmod(*due, 60) == 0, text);
    after = *due;
  }
}

void check_calendar(std::string_view text) {
  static_cast<void>(cli::parse_series_time(text));
  const auto seconds = parse_calendar(text);
  if (!seconds) return;
  FUZZ_CHECK(std::isfinite(*seconds), text);
  const std::string written = rfc3339(*seconds);
  if (written.empty()) return;  // 1970-01-01 means "not yet"
  check_line(written);
  const auto again = parse_calendar(written);
  FUZZ_CHECK(again && std::abs(*again - *seconds) < 0.002, std::string(text) + " " + written);
}

// --- sizes, numbers, parameters
// -------------------------------------------------------------------

void check_units(std::string_view text) {
  const auto bytes = parse_bytes(text);
  check_error(bytes);
  if (bytes) {
    FUZZ_CHECK(*bytes <= kMaxBytes, text);
    FUZZ_CHECK(parse_bytes(canonical_bytes(*bytes)) == *bytes, text);
  }
  const auto ns = parse_duration_ns(text);
  check_error(ns);
  if (ns) {
    FUZZ_CHECK(*ns >= 0 && *ns <= kMaxDurationNs, text);
    FUZZ_CHECK(parse_duration_ns(canonical_duration(*ns)) == *ns, text);
  }
  const auto number = parse_number(text);
  check_error(number);
  FUZZ_CHECK(!number || std::isfinite(*number), text);
  const auto integer = parse_integer(text);
  check_error(integer);
  FUZZ_CHECK(!integer || parse_integer(fmt::format("{}", *integer)) == *integer, text);
  const auto list = parse_bytes_list(text);
  check_error(list);
  for (const char* type :
       {"integer", "number", "bytes", "duration", "boolean", "text", "choice", "bytes_list"}) {
    ParameterInfo info;
    info.set_name("depth");
    info.set_type(type);
    info.add_choices("hot");
    const auto once = check_parameter(info, text);
    check_error(once);
    if (!once) continue;
    const auto twice = check_parameter(info, *once);
    FUZZ_CHECK(twice && *twice == *once, std::string(text) + " became " + *once);
  }
}

void check_settings(std::string_view text) {
  const std::vector<std::string> flags{"listen", "state-folder", "log-level"};
  const auto file = parse_settings_file(text, "railgauge.conf", flags);
  check_error(file);
  for (const auto& [name, setting] : file.value_or(SettingsFile{})) {
    FUZZ_CHECK(std::ranges::find(flags, name) != flags.end(), name);
    FUZZ_CHECK(setting.value.find('\n') == std::string::npos, setting.value);
    check_line(setting.source);
  }
  const auto installations = read_installations(std::string(text));
  check_error(installations);
  for (const MpiInstallation& one : installations.value_or(std::vector<MpiInstallation>{})) {
    FUZZ_CHECK(!one.name.empty() && one.prefix.starts_with('/'), text);
    FUZZ_CHECK(one.mpi == "openmpi" || one.mpi == "mpich", one.mpi);
  }
}

void check_series(std::string_view text) {
  std::istringstream in{std::string(text)};
  const auto series = cli::read_series(in, "series.csv");
  check_error(series);
  if (!series) return;
  FUZZ_CHECK(series->rows.size() == series->values.size(), text);
  FUZZ_CHECK(series->times.empty() || series->times.size() == series->values.size(), text);
  const auto gaps = std::ranges::count_if(series->values, [](double v) { return std::isnan(v); });
  FUZZ_CHECK(static_cast<std::size_t>(gaps) == series->gaps, text);
  FUZZ_CHECK(series->gaps < series->values.size(), text);
  for (const std::string& note : series->notes) check_line(note);
}

// --- files of a node
// ------------------------------------------------------------------------------

void check_node_files(std::string_view text) {
  using namespace agent;
  if (const auto count = parse_counter(text))
    FUZZ_CHECK(parse_counter(fmt::format("{}\n", *count)) == *count, text);
  static_cast<void>(parse_aer_total(text));
  if (const auto number = number_in(text))
    FUZZ_CHECK(number_in(fmt::format("{:#x}", *number)) == *number, text);
  if (const auto amount = amount_in(text, " GT/s")) FUZZ_CHECK(std::isfinite(*amount), text);
  FUZZ_CHECK(at_least(text, "0") == !version_of(text).empty(), text);
  static_cast<void>(rdma_handles_left(text, text));
  const auto fault = parse_xid(text);
  const auto remark = remark_of(text);
  FUZZ_CHECK(fault.has_value() == remark.has_value(), text);
  if (!remark) return;
  check_line(remark->text);
  check_line(remark->subject);
}

// --- text for people, shells and programs
// ---------------------------------------------------------

// A POSIX shell's reading of one word that shell_quoted() wrote.
std::string unquoted(std::string_view word) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\\' && i + 1 < word.size()) {
      out += word[++i];
    } else if (word[i] == '\'') {
      const std::size_t end = word.find('\'', i + 1);
      FUZZ_CHECK(end != std::string_view::npos, word);
      out += word.substr(i + 1, end - i - 1);
      i = end;
    } else {
      FUZZ_CHECK(made_of(word.substr(i, 1), "@%+=:,./_-^~"), word);
      out += word[i];
    }
  }
  return out;
}

void check_text(std::string_view text) {
  const std::string valid = valid_utf8(text);
  FUZZ_CHECK(valid_utf8(valid) == valid && valid.size() == text.size(), text);
  const std::string shown = printable(text);
  FUZZ_CHECK(!has_control_bytes(shown), text);
  FUZZ_CHECK(printable(shown) == shown, text);
  check_line(in_quotes(text));
  if (text.find('\0') == std::string_view::npos)
    FUZZ_CHECK(unquoted(shell_quoted(text)) == text, text);
  const std::string json = json_string(text);
  check_line(json.size() > kMaxLineBytes ? "long" : json);
  FUZZ_CHECK(json.size() >= 2 && json.front() == '"' && json.back() == '"', json);
  for (std::size_t i = 1; i + 1 < json.size(); ++i) {
    if (json[i] == '\\')
      ++i;
    else
      FUZZ_CHECK(json[i] != '"', json);
    FUZZ_CHECK(i + 1 < json.size(), json);
  }
  const std::string_view start = beginning_of(valid, 20);
  FUZZ_CHECK(valid.starts_with(start) && valid_utf8(start) == start && start.size() <= 20, valid);
}

constexpr std::string_view kSecret = "Xy7secret9Qz";

// The fuzzer learns a planted word from the comparison with it. Where the input itself has the word
// in another place, nobody can know that it is secret.
std::string without(std::string_view word, std::string_view text) {
  std::string rest(text);
  for (std::size_t at = 0; (at = rest.find(word)) != std::string::npos;)
    rest.erase(at, word.size());
  return rest;
}

void check_secrets(std::string_view text) {
  const std::string others = without(kSecret, text);
  text = others;
  const std::size_t middle = text.size() / 2;
  for (const std::string_view line :
       {"password: {}", "TOKEN={}", "--api-token {}", "{{\"secret\": \"{}\"}}",
        "Authorization: Bearer {}", "https://user:{}@host/"}) {
    const std::string planted =
        fmt::format("{}\n{}\n{}", text.substr(0, middle), fmt::format(fmt::runtime(line), kSecret),
                    text.substr(middle));
    const std::string clean = cli::without_secrets(planted);
    FUZZ_CHECK(clean.find(kSecret) == std::string::npos, planted);
  }
  cli::Redactor redactor;
  redactor.learn("node", "gpu001.cluster");
  redactor.learn("person", "Ada Lovelace");
  const std::string hidden = redactor.apply(std::string(text) + " gpu001 Ada Lovelace 192.0.2.17");
  FUZZ_CHECK(hidden.find(" gpu001 ") == std::string::npos, hidden);
  FUZZ_CHECK(hidden.find(" Ada Lovelace ") == std::string::npos, hidden);
}

// --- the HTTP port
// --------------------------------------------------------------------------------

// --web-config-file. A value that should be a hash may be the password itself.
void check_web_config(std::string_view text) {
  const auto settings = http::parse_web_config(std::string(text), "web.yml");
  check_error(settings);
  if (settings) {
    FUZZ_CHECK(settings->users.size() <= 256, text);
    for (const http::User& user : settings->users) {
      const int cost = http::bcrypt_cost(user.hash);
      FUZZ_CHECK(cost >= http::kLeastBcryptCost && cost <= http::kMostBcryptCost, user.hash);
      FUZZ_CHECK(!user.name.empty() && user.name.find(':') == std::string::npos, user.name);
    }
  }
  if (settings && settings->tls) {
    const http::TlsSettings& tls = *settings->tls;
    FUZZ_CHECK(tls.files.contains("cert_file") && tls.files.contains("key_file"), text);
    FUZZ_CHECK(tls.client_auth->is_verified == tls.files.contains("client_ca_file"), text);
    FUZZ_CHECK(tls.max_version == 0 || tls.max_version >= tls.min_version, text);
    for (const auto& [key, file] : tls.files) {
      FUZZ_CHECK(!file.first.empty(), key);
      check_line(file.second);
    }
  }
  const auto planted = http::parse_web_config(
      fmt::format("basic_auth_users:\n  ada: {}\n{}", kSecret, without(kSecret, text)), "web.yml");
  FUZZ_CHECK(!planted, text);
  check_error(planted);
  FUZZ_CHECK(error_of(planted).find(kSecret) == std::string::npos, error_of(planted));
}

// The header "Authorization" of a request.
void check_credentials(std::string_view text) {
  if (const auto read = http::credentials_of(text)) {
    FUZZ_CHECK(read->find(':') != std::string::npos && read->size() < text.size(), text);
    FUZZ_CHECK(read->find('\0') == std::string::npos, text);
  }
  const std::string_view plain = text.substr(0, 300);
  std::string code((plain.size() + 2) / 3 * 4 + 1, '\0');
  code.resize(static_cast<std::size_t>(EVP_EncodeBlock(
      reinterpret_cast<unsigned char*>(code.data()),
      reinterpret_cast<const unsigned char*>(plain.data()), static_cast<int>(plain.size()))));
  const auto again = http::credentials_of("Basic " + code);
  const bool is_sound = plain.find(':') != plain.npos && plain.find('\0') == plain.npos;
  FUZZ_CHECK(again.has_value() == is_sound, text);
  FUZZ_CHECK(!again || *again == plain, text);
}

constexpr std::array kReaders{check_addresses, check_exposition, check_cron,
                              check_calendar,  check_units,      check_settings,
                              check_series,    check_node_files, check_text,
                              check_secrets,   check_web_config, check_credentials};

}  // namespace
}  // namespace railgauge::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railgauge::fuzz;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  kReaders.at((data[0] - 'A') % kReaders.size())(text);
  return 0;
}
