#include "controller/config.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "controller/clock/clock_page.h"
#include "controller/mirror/pq/url.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

constexpr std::string_view kDefaultListen = "0.0.0.0:7443";
constexpr std::string_view kDefaultInsecureListen = "127.0.0.1:7443";

constexpr std::array kSettings{
    SettingInfo{"database", "SQLite file of runs and results", "/var/lib/railgauge/railgauge.db"},
    SettingInfo{"socket", "unix socket for tools and agents of this host",
                "/run/railgauge/controller.sock"},
    SettingInfo{
        "socket-group",
        "group whose members may use the unix socket, beside root and the controller's user", ""},
    SettingInfo{"listen",
                "HOST:PORT for TCP; with certificates 0.0.0.0:7443, with --insecure 127.0.0.1:7443",
                ""},
    SettingInfo{"tls-cert", "the controller's certificate, PEM", ""},
    SettingInfo{"tls-key", "its key, PEM", ""},
    SettingInfo{"tls-ca", "certificates that vouch for agents and tools, PEM", ""},
    SettingInfo{"tls-crl",
                "revocation lists of those authorities, PEM; one that ended stays in use", ""},
    SettingInfo{"insecure",
                "TCP without certificates: anybody who reaches the port may do anything", "false",
                true},
    SettingInfo{"enroll-listen",
                "[HOST:]PORT where nodes get certificates by a token and renew them, as 7444; by "
                "default there is no such port; it needs TCP with certificates and --enroll-pki",
                ""},
    SettingInfo{
        "enroll-pki",
        "folder of railgauge pki whose authority signs them; the controller's user owns it, "
        "key included",
        ""},
    SettingInfo{"enroll-days", "days for which such a certificate is valid, 1 to 825", "90"},
    SettingInfo{"metrics-listen", "HOST:PORT of /metrics and /healthz; none is none",
                "127.0.0.1:7470"},
    SettingInfo{"web-config-file",
                "TLS and passwords of /metrics and /healthz, in the form of Prometheus' exporters; "
                "by default plain HTTP for anybody",
                ""},
    SettingInfo{"console-listen",
                "HOST:PORT of the web console; none is none; beyond loopback it needs "
                "--console-web-config-file",
                "127.0.0.1:7480"},
    SettingInfo{"console-web-config-file",
                "TLS, passwords and client certificates of the web console, in the form of "
                "--web-config-file",
                ""},
    SettingInfo{"console-operators",
                "users of that file's passwords who may act, separated by commas; the others may "
                "only read",
                ""},
    SettingInfo{"suites", "folder of suites; by default the one installed with the program", ""},
    SettingInfo{"site-profile",
                "file of what production sets on this fabric; by default /etc/railgauge/site.yaml "
                "where it is there",
                ""},
    SettingInfo{"keep-raw-samples", "days for which raw samples are kept, 0 is for ever", "7",
                false, true},
    SettingInfo{"keep-distributions", "likewise the points' distributions; 13 months", "396", false,
                true},
    SettingInfo{"keep-points", "likewise points; their daily figures stay; 5 years", "1826", false,
                true},
    SettingInfo{"keep-audit", "likewise rows of the audit trail; 13 months", "396", false, true},
    SettingInfo{"audit-log",
                "file of the audit trail's lines, one JSON object each; by default audit.jsonl "
                "beside the database; - is standard output, none is none",
                ""},
    SettingInfo{"backup-every",
                "make a backup whenever the newest of these is as old, as 24h; 0 makes none", "0",
                false, true},
    SettingInfo{"backup-keep", "how many of them stay, from 1 to 1000", "7", false, true},
    SettingInfo{"backup-folder",
                "the only folder of backups on the controller's host; by default backups beside "
                "the database",
                ""},
    SettingInfo{"upgrade-policy",
                "off, propose or run: a node's stack changed and stayed so for 15 minutes: report "
                "nothing, report an event, or gate it",
                "propose", false, true},
    SettingInfo{
        "upgrade-window",
        "when the policy run may begin to measure, in UTC: \"mon-fri 22:00-06:00; sat,sun\"; "
        "by default always",
        "", false, true},
    SettingInfo{
        "simulated-clock",
        "a time such as 2026-01-05: the calendar begins there, and railgauge clock moves it; "
        "for a modelled fleet, with a database of its own",
        ""},
    SettingInfo{"synthetic",
                "the database is for a modelled fleet, and real agents are refused for good; a "
                "fleet whose agents have certificates needs it, over the unix socket none does",
                "false", true},
    SettingInfo{"webhook-url",
                "http or https URL that gets reports by POST: of each run that a schedule started, "
                "and of confirmed findings; or the absolute path of a file with the URL",
                ""},
    SettingInfo{"webhook-format",
                "json, slack or teams: the report as one object, or a text for these programs",
                "json"},
    SettingInfo{"chat-url", "a second URL that gets the same reports, likewise", ""},
    SettingInfo{"chat-format", "its format: json, slack or teams", "slack"},
    SettingInfo{"webhook-secret-file",
                "file whose first line signs what both URLs get (HMAC-SHA256)", ""},
    SettingInfo{"webhook-ca-file",
                "authorities of the certificates of both URLs, PEM; by default the system's", ""},
    SettingInfo{"sendmail",
                "absolute path of a program that gets the same reports as mails on stdin, with the "
                "arguments -i -t",
                ""},
    SettingInfo{"mail-to", "addresses of these mails, with commas between", ""},
    SettingInfo{"mail-from", "their sender; by default the program's own", ""},
    SettingInfo{"report-template-file",
                "file with the text of all these, in which {{headline}}, {{text}} and other "
                "names are replaced; by default the whole report",
                ""},
    SettingInfo{"certificate-key",
                "key that signs certificates of runs and upgrades, PEM, P-256 (as railgauge pki "
                "makes them) or Ed25519; by default they are not signed",
                ""},
    SettingInfo{"mirror",
                "postgres:// address of a database that gets a copy of everything, without a "
                "password: ?passfile=FILE names its file; by default there is no copy",
                ""},
    SettingInfo{"site", "name of this site in that database; --mirror needs it", ""},
    SettingInfo{"mirror-keep-points",
                "days for which points and pair matrices are kept there, 0 is for ever; a month of "
                "points goes as a whole, and not before every site's days are over",
                "0"},
    SettingInfo{"standby",
                "run beside other controllers of --site: the one with the lease in --mirror's "
                "database is active, the others keep copies, and one of them takes over",
                "false", true},
    SettingInfo{
        "advertise",
        "HOST:PORT by which people, agents and the site's other controllers reach this one; "
        "--standby needs it",
        ""},
    SettingInfo{"lease-seconds",
                "of --standby: after which a dead active controller is replaced, "
                "5 to 60; the same for all controllers of a site",
                "10"},
    SettingInfo{"acknowledge",
                "store or mirror: records are acknowledged once this host has them, and a takeover "
                "asks the "
                "agents' spools again; or once --mirror's database has them",
                "store"},
    SettingInfo{"log-level", "debug, info, warn or error", "info", false, true},
    SettingInfo{"log-format", "text, or json for one object a line", "text"},
};

Result<bool> switch_value(std::string_view name, const std::string& value) {
  if (value == "true" || value == "1") return true;
  if (value == "false" || value == "0" || value.empty()) return false;
  return fail(Code::kInvalidArgument,
              fmt::format("--{} {}: true or false is needed", name, in_quotes(value)));
}

Result<double> days_value(std::string_view name, const std::string& value) {
  constexpr double kMostDays = 36'525;
  const auto days = parse_number(value);
  if (days && *days >= 0 && *days <= kMostDays) return *days;
  return fail(Code::kInvalidArgument,
              fmt::format("--{} {}: a number of days from 0 (for ever) to {} is needed", name,
                          in_quotes(value), kMostDays));
}

// How often a backup is made, at least a minute apart, and how many stay. kInvalidArgument: neither
// a duration nor 0, or a number out of bounds.
Result<store::BackupPlan> backup_plan(const std::string& every, const std::string& keep) {
  constexpr double kLeastSeconds = 60;
  constexpr std::int64_t kMostKept = 1'000;
  const auto ns = parse_duration_ns(every);
  if (!ns || (*ns > 0 && *ns / 1e9 < kLeastSeconds))
    return fail(Code::kInvalidArgument,
                fmt::format("--backup-every {}: a duration from 1min, as 24h, or 0 is needed",
                            in_quotes(every)));
  const auto count = parse_integer(keep);
  if (!count || *count < 1 || *count > kMostKept)
    return fail(Code::kInvalidArgument,
                fmt::format("--backup-keep {}: a number from 1 to {} is needed", in_quotes(keep),
                            kMostKept));
  return store::BackupPlan{.every_seconds = *ns / 1e9, .keep = static_cast<std::size_t>(*count)};
}

// "": no simulated clock.
Result<std::optional<double>> clock_value(const std::string& value) {
  if (value.empty()) return std::nullopt;
  if (const auto begin = parse_calendar(value);
      begin && *begin > 0 && *begin < ClockPage::kMostSeconds)
    return begin;
  return fail(
      Code::kInvalidArgument,
      fmt::format("--simulated-clock {}: a time from 1970 to 2199 is needed, such as 2026-01-05 "
                  "or 2026-01-05T20:00",
                  in_quotes(value)));
}

Status check_choice(std::string_view name, const std::string& value,
                    const std::vector<std::string>& allowed) {
  if (std::ranges::find(allowed, value) != allowed.end()) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("--{} {}: {} is needed", name, in_quotes(value), one_of(allowed)));
}

// kInvalidArgument: a format that no receiver has, or wishes that exclude each other.
Status check_deliveries(const deliver::Wishes& wishes) {
  const std::vector<std::string> formats(std::begin(deliver::kFormatNames),
                                         std::end(deliver::kFormatNames));
  RG_TRY_OK(check_choice("webhook-format", wishes.webhook_format, formats));
  RG_TRY_OK(check_choice("chat-format", wishes.chat_format, formats));
  return deliver::check_wishes(wishes);
}

// kInvalidArgument: a level or a format that the log does not have.
Status check_log(const Config& config) {
  RG_TRY_OK(check_choice("log-level", config.log_level, {"debug", "info", "warn", "error"}));
  return check_choice("log-format", config.log_format, {"text", "json"});
}

// kInvalidArgument: TCP without certificates and without --insecure, an incomplete set of files, or
// both certificates and --insecure.
Status check_tcp_options(const TcpOptions& options) {
  const int files = (options.tls_cert.empty() ? 0 : 1) + (options.tls_key.empty() ? 0 : 1) +
                    (options.tls_ca.empty() ? 0 : 1);
  constexpr int kAll = 3;
  if (!options.tls_crl.empty() && files != kAll)
    return fail(Code::kInvalidArgument, "--tls-crl needs --tls-cert, --tls-key and --tls-ca");
  if (files != 0 && files != kAll)
    return fail(Code::kInvalidArgument, "--tls-cert, --tls-key and --tls-ca are needed together");
  if (files == kAll && options.insecure)
    return fail(Code::kInvalidArgument, "--insecure and certificates exclude each other");
  if (!options.listen.empty() && files == 0 && !options.insecure)
    return fail(
        Code::kInvalidArgument,
        fmt::format("--listen {}: TCP needs --tls-cert, --tls-key and --tls-ca, or --insecure",
                    options.listen));
  return {};
}

// The settings of the enrolment port. A port alone is one on every address, as for the other ports
// their defaults say it. kInvalidArgument: days out of bounds.
Result<EnrollOptions> enroll_options(Values& chosen) {
  constexpr double kMostDays = 825;
  const auto days = parse_number(chosen["enroll-days"]);
  if (!days || *days < 1 || *days > kMostDays)
    return fail(Code::kInvalidArgument,
                fmt::format("--enroll-days {}: a number of days from 1 to {} is needed",
                            in_quotes(chosen["enroll-days"]), kMostDays));
  EnrollOptions enroll{
      .listen = chosen["enroll-listen"], .pki = chosen["enroll-pki"], .days = *days};
  if (enroll.listen == "none") enroll.listen.clear();
  if (!enroll.listen.empty() && enroll.listen.find(':') == std::string::npos)
    enroll.listen.insert(0, "0.0.0.0:");
  return enroll;
}

// Where reports go.
deliver::Wishes wishes_of(Values& chosen) {
  return {.webhook_url = chosen["webhook-url"],
          .webhook_format = chosen["webhook-format"],
          .chat_url = chosen["chat-url"],
          .chat_format = chosen["chat-format"],
          .secret_file = chosen["webhook-secret-file"],
          .ca_file = chosen["webhook-ca-file"],
          .sendmail = chosen["sendmail"],
          .mail_to = chosen["mail-to"],
          .mail_from = chosen["mail-from"],
          .template_file = chosen["report-template-file"]};
}

// kInvalidArgument: an address with a password or of another kind, or no name of the site.
Result<MirrorWish> mirror_wish(Values& chosen) {
  constexpr std::size_t kMostBytes = 64;
  MirrorWish wish{
      .url = chosen["mirror"],
      .site = chosen["site"],
      .keep_days = RG_TRY(days_value("mirror-keep-points", chosen["mirror-keep-points"]))};
  const bool is_name = std::ranges::all_of(wish.site, [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '_';
  });
  if (!is_name || wish.site.size() > kMostBytes)
    return fail(Code::kInvalidArgument,
                fmt::format("--site {}: letters, digits, - and _ are needed, at most {}",
                            in_quotes(wish.site), kMostBytes));
  if (wish.url.empty()) return wish;
  if (const Status sound = pq::check_url(wish.url); !sound)
    return fail(Code::kInvalidArgument, "--mirror: " + sound.error().message);
  if (wish.site.empty())
    return fail(Code::kInvalidArgument, "--mirror needs --site, the name of this site there");
  return wish;
}

// kInvalidArgument: a standby without archive or address, or a lease out of bounds.
// A lease of less than five seconds would end within a slow answer of the archive; more than a
// minute is longer than people wait for a takeover.
Result<StandbyWish> standby_wish(Values& chosen) {
  constexpr double kLeastSeconds = 5;
  constexpr double kMostSeconds = 60;
  const auto seconds = parse_number(chosen["lease-seconds"]);
  if (!seconds || *seconds < kLeastSeconds || *seconds > kMostSeconds)
    return fail(Code::kInvalidArgument,
                fmt::format("--lease-seconds {}: a number from {} to {} is needed",
                            in_quotes(chosen["lease-seconds"]), kLeastSeconds, kMostSeconds));
  const StandbyWish wish{.is_on = RG_TRY(switch_value("standby", chosen["standby"])),
                         .advertise = chosen["advertise"],
                         .lease_seconds = *seconds};
  RG_TRY_OK(check_choice("acknowledge", chosen["acknowledge"], {"store", "mirror"}));
  if (chosen["acknowledge"] == "mirror" && chosen["mirror"].empty())
    return fail(Code::kInvalidArgument, "--acknowledge mirror needs --mirror");
  if (!wish.is_on) return wish;
  if (chosen["mirror"].empty())
    return fail(Code::kInvalidArgument, "--standby needs --mirror, whose database has the lease");
  if (wish.advertise.empty())
    return fail(Code::kInvalidArgument,
                "--standby needs --advertise, by which the other controllers reach this one");
  return wish;
}

// Names between commas and blanks.
std::set<std::string> names_in(std::string_view text) {
  std::set<std::string> names;
  for (const std::string_view part : split(text, ','))
    if (const std::string_view name = trimmed(part); !name.empty()) names.emplace(name);
  return names;
}

// kInvalidArgument: the port without the authority, or the other way round, or without TLS.
Status check_enroll(const Config& config) {
  const EnrollOptions& enroll = config.enroll;
  if (enroll.listen.empty() != enroll.pki.empty())
    return fail(Code::kInvalidArgument, "--enroll-listen and --enroll-pki are needed together");
  if (enroll.listen.empty() || !config.tcp.tls_cert.empty()) return {};
  return fail(
      Code::kInvalidArgument,
      fmt::format("--enroll-listen {}: it needs --tls-cert, --tls-key and --tls-ca, by which "
                  "enrolled nodes attach",
                  enroll.listen));
}

}  // namespace

std::span<const SettingInfo> settings() { return kSettings; }

std::vector<std::string> setting_names() {
  std::vector<std::string> names;
  for (const SettingInfo& setting : kSettings) names.emplace_back(setting.name);
  return names;
}

std::string controller_settings_page() {
  std::string page =
      "# Settings of railgauge-controller\n\n"
      "Rendered from the table in `controller/config.cc`; a test compares the two. A flag comes\n"
      "before its environment variable, the variable before the settings file, and the file\n"
      "before the default. The file has lines `key = value` with the names below. SIGHUP has the\n"
      "files read again, and applies the settings with a mark.\n\n"
      "| flag | variable | default | SIGHUP | meaning |\n|---|---|---|---|---|\n";
  for (const SettingInfo& setting : kSettings)
    page += fmt::format(
        "| `--{}` | `{}` | {} | {} | {} |\n", setting.name, setting_variable(setting.name),
        setting.default_value.empty() ? "" : fmt::format("`{}`", setting.default_value),
        setting.reloads ? "applies" : "", setting.summary);
  return page;
}

Result<Config> resolve(const Values& flags, const Environment& environment,
                       const SettingsFile& file) {
  Values chosen = chosen_values(flags, environment, file);
  std::set<std::string, std::less<>> given_names;
  const auto is_default = [&given_names](std::string_view name) {
    return !given_names.contains(name);
  };
  for (const SettingInfo& setting : kSettings) {
    const auto flag = flags.find(setting.name);
    const auto given = given_setting(
        setting.name, flag == flags.end() ? std::nullopt : std::optional(flag->second), environment,
        file);
    if (given) given_names.emplace(setting.name);
  }
  Config config{
      .database = chosen["database"],
      .socket = chosen["socket"],
      .socket_group = chosen["socket-group"],
      .tcp = {.listen = chosen["listen"],
              .tls_cert = chosen["tls-cert"],
              .tls_key = chosen["tls-key"],
              .tls_ca = chosen["tls-ca"],
              .tls_crl = chosen["tls-crl"],
              .insecure = RG_TRY(switch_value("insecure", chosen["insecure"]))},
      .enroll = RG_TRY(enroll_options(chosen)),
      .metrics_listen = chosen["metrics-listen"],
      .suites = chosen["suites"],
      .site_profile = chosen["site-profile"],
      .keep_days = {.raw_samples =
                        RG_TRY(days_value("keep-raw-samples", chosen["keep-raw-samples"])),
                    .distributions =
                        RG_TRY(days_value("keep-distributions", chosen["keep-distributions"])),
                    .points = RG_TRY(days_value("keep-points", chosen["keep-points"])),
                    .audit = RG_TRY(days_value("keep-audit", chosen["keep-audit"]))},
      .upgrade_policy = chosen["upgrade-policy"],
      .upgrade_window = chosen["upgrade-window"],
      .log_level = chosen["log-level"],
      .log_format = chosen["log-format"],
      .audit_log = chosen["audit-log"],
      .backup_folder = chosen["backup-folder"],
      .backups = RG_TRY(backup_plan(chosen["backup-every"], chosen["backup-keep"])),
      .simulated_clock = RG_TRY(clock_value(chosen["simulated-clock"])),
      .synthetic = RG_TRY(switch_value("synthetic", chosen["synthetic"])),
      .console_listen = chosen["console-listen"],
      .console_may_lack = is_default("console-listen"),
      .console_web_config = chosen["console-web-config-file"],
      .console_operators = names_in(chosen["console-operators"]),
      .web_config_file = chosen["web-config-file"],
      .deliver = wishes_of(chosen),
      .mirror = RG_TRY(mirror_wish(chosen)),
      .standby = RG_TRY(standby_wish(chosen)),
      .acknowledges_by_mirror = chosen["acknowledge"] == "mirror",
      .certificate_key = chosen["certificate-key"]};
  if (config.console_listen == "none") config.console_listen.clear();
  if (config.metrics_listen == "none") config.metrics_listen.clear();
  RG_TRY_OK(check_tcp_options(config.tcp));
  RG_TRY_OK(check_enroll(config));
  if (!config.console_operators.empty() && config.console_web_config.empty())
    return fail(Code::kInvalidArgument,
                "--console-operators: it needs --console-web-config-file with basic_auth_users");
  RG_TRY_OK(check_log(config));
  RG_TRY_OK(check_choice("upgrade-policy", config.upgrade_policy, {"off", "propose", "run"}));
  RG_TRY_OK(check_deliveries(config.deliver));
  if (config.tcp.listen.empty() && config.tcp.insecure) config.tcp.listen = kDefaultInsecureListen;
  if (config.tcp.listen.empty() && !config.tcp.tls_cert.empty()) config.tcp.listen = kDefaultListen;
  return config;
}

Values chosen_values(const Values& flags, const Environment& environment,
                     const SettingsFile& file) {
  Values chosen;
  for (const SettingInfo& setting : kSettings) {
    const auto flag = flags.find(setting.name);
    const auto given = given_setting(
        setting.name, flag == flags.end() ? std::nullopt : std::optional(flag->second), environment,
        file);
    chosen[std::string(setting.name)] = given ? given->value : setting.default_value;
  }
  return chosen;
}

SettingChanges changes_between(const Values& in_force, const Values& now) {
  SettingChanges changes;
  for (const SettingInfo& setting : kSettings) {
    const std::string& before = in_force.find(setting.name)->second;
    const std::string& after = now.find(setting.name)->second;
    if (before == after) continue;
    if (setting.reloads)
      changes.applied.push_back(
          fmt::format("{} {} -> {}", setting.name, in_quotes(before), in_quotes(after)));
    else
      changes.waiting.emplace_back(setting.name);  // whose text may be a secret
  }
  return changes;
}

void take_reloaded(Values& in_force, const Values& now) {
  for (const SettingInfo& setting : kSettings)
    if (setting.reloads) in_force.find(setting.name)->second = now.find(setting.name)->second;
}

std::string settings_in_force(const Values& flags, const Environment& environment,
                              const SettingsFile& file) {
  std::string lines;
  for (const SettingInfo& setting : kSettings) {
    const auto flag = flags.find(setting.name);
    if (const auto given = given_setting(
            setting.name, flag == flags.end() ? std::nullopt : std::optional(flag->second),
            environment, file))
      lines +=
          fmt::format("{} = {}  # {}\n", setting_key(setting.name), given->value, given->source);
  }
  return lines;
}

namespace {

std::string beside_database(const Config& config, std::string_view name) {
  return (std::filesystem::path(config.database).parent_path() / name).string();
}

}  // namespace

std::string audit_log_of(const Config& config) {
  if (config.audit_log == "none") return "";
  return config.audit_log.empty() ? beside_database(config, "audit.jsonl") : config.audit_log;
}

std::string backup_folder_of(const Config& config) {
  return config.backup_folder.empty() ? beside_database(config, "backups") : config.backup_folder;
}

std::string clock_page_of(const Config& config) {
  return beside_database(config, "simulated-clock");
}

namespace {

// The first of `candidates`, below the program's folder, that is a folder; "": none is.
std::string folder_near_program(std::initializer_list<std::string_view> candidates) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const std::filesystem::path folder = program.parent_path();
  for (const std::string_view candidate : candidates)
    if (std::filesystem::is_directory(folder / candidate, error))
      return (folder / candidate).lexically_normal().string();
  return "";
}

}  // namespace

std::string default_suites_folder() {
  return folder_near_program({"../share/railgauge/suites", "../../../suites"});
}

std::string default_console_folder() { return folder_near_program({"../share/railgauge/console"}); }

}  // namespace railgauge
