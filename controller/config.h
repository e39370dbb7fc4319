// The controller's settings, from flag, environment variable, settings file or default; the first
// of these that names a setting wins.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/deliver/targets.h"
#include "controller/store/upkeep/timed_backup.h"
#include "kernels/core/base/result.h"
#include "kernels/core/text/settings_file.h"

namespace railgauge {

// Files that are used if they exist and no other file is named.
inline constexpr std::string_view kDefaultSitePath = "/etc/railgauge/site.yaml";
inline constexpr std::string_view kDefaultConfigPath = "/etc/railgauge/controller.conf";

// One setting of the table that flags, files and the manual share.
struct SettingInfo {
  std::string_view name;  // of the flag, without dashes
  std::string_view summary;
  std::string_view default_value;
  bool is_switch = false;
  // SIGHUP applies it to the running controller; others wait for a restart.
  bool reloads = false;
};
std::span<const SettingInfo> settings();
std::vector<std::string> setting_names();
// Renders the text of deploy/docs/reference/controller-settings.md.
std::string controller_settings_page();

// The settings of the TCP port: mutual TLS; plain TCP only on request.
struct TcpOptions {
  std::string listen;  // HOST:PORT; "": no TCP
  std::string tls_cert;
  std::string tls_key;
  std::string tls_ca;
  std::string tls_crl{};  // "": no list
  bool insecure = false;
};

// The enrolment port, where nodes get and renew certificates.
struct EnrollOptions {
  std::string listen{};  // HOST:PORT; "": nobody is enrolled
  std::string pki{};     // folder of the authority
  double days = 90;      // of a certificate
};

// Age in days at which each kind of data is deleted; 0 keeps it for ever.
struct KeepDays {
  double raw_samples = 0;
  double distributions = 0;
  double points = 0;
  double audit = 0;
};

// The mirror of the database in PostgreSQL.
struct MirrorWish {
  std::string url{};     // without a password; "": there is none
  std::string site{};    // the name under which this controller writes
  double keep_days = 0;  // of points there
};

// Other controllers of the site, of which one is active.
struct StandbyWish {
  bool is_on = false;
  std::string advertise{};    // by which others reach this one
  double lease_seconds = 10;  // after which a dead one is replaced
  bool is_forced = false;     // --take-over of the command line
};

// The settings of one controller.
struct Config {
  std::string database;
  std::string socket;
  std::string socket_group;
  TcpOptions tcp;
  EnrollOptions enroll{};
  std::string metrics_listen;  // HOST:PORT; "" for none
  std::string suites;          // "": found beside the program
  std::string site_profile;    // "": none
  KeepDays keep_days{.raw_samples = 7, .distributions = 396, .points = 1826, .audit = 396};
  std::string upgrade_policy = "propose";  // off, propose, run
  std::string upgrade_window{};            // of "run": "mon-fri 22:00-06:00; sat,sun" in UTC
  std::string log_level;
  std::string log_format;
  std::string audit_log{};      // "": audit.jsonl beside the database; "none"; "-": standard output
  std::string backup_folder{};  // "": backups beside the database
  store::BackupPlan backups{};
  std::optional<double> simulated_clock{};  // begins at this time, unix seconds; absent: the host's
  bool synthetic = false;                   // the database is of a modelled fleet
  std::string console_listen{};             // HOST:PORT; "" for none
  bool console_may_lack = false;            // its port was nobody's wish: a taken one is no error
  std::string console_web_config{};  // of the console's port; "": plain HTTP, on loopback only
  std::set<std::string> console_operators{};  // of its passwords' users; the others may only read
  std::string console_folder{};               // of its built pages; "": found beside the program
  std::string web_config_file{};  // of /metrics and /healthz; "": plain HTTP for anybody
  std::string sql_program{};      // sql_process.h; "": statements run in this process
  std::string post_program{};     // deliver/send.h; "": reports are posted in this process
  deliver::Wishes deliver{};      // where reports go
  MirrorWish mirror{};
  StandbyWish standby{};
  bool acknowledges_by_mirror = false;  // acknowledgements wait for the archive
  std::string certificate_key{};  // file that signs certificates, PEM; "": they are not signed
};

using Values = std::map<std::string, std::string, std::less<>>;  // by setting name

// Resolves all settings. kInvalidArgument, with the setting's name: a switch that is neither true
// nor false, or TCP without certificates and without --insecure. Pure.
Result<Config> resolve(const Values& flags, const Environment& environment,
                       const SettingsFile& file);

// The text of each setting, or its default. Pure.
Values chosen_values(const Values& flags, const Environment& environment, const SettingsFile& file);

// Settings whose texts differ, in the order of the table: those that SIGHUP applies, as
// "backup-keep \"7\" -> \"14\"", and the names of those that wait for a restart. Pure.
struct SettingChanges {
  std::vector<std::string> applied{};
  std::vector<std::string> waiting{};
};
SettingChanges changes_between(const Values& in_force, const Values& now);
// Takes over the settings that SIGHUP applies. Pure.
void take_reloaded(Values& in_force, const Values& now);

// A line for each setting that is no default: key, value, source. Pure.
std::string settings_in_force(const Values& flags, const Environment& environment,
                              const SettingsFile& file);

// The file of the audit trail's lines, "" for none, and the folder of backups: as they are set, or
// beside the database. Pure.
std::string audit_log_of(const Config& config);
std::string backup_folder_of(const Config& config);
// The file of the simulated clock, beside the database (controller/clock/clock_page.h). Pure.
std::string clock_page_of(const Config& config);

// Finds the suites that belong to the program: installed (<prefix>/share/railgauge/suites), or in
// the source tree around the build folder; "" if there are none.
std::string default_suites_folder();

// Finds the console's built pages likewise (<prefix>/share/railgauge/console, or that of the build
// folder); "" if there are none.
std::string default_console_folder();

}  // namespace railgauge
