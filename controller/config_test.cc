#include "controller/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/listen/host_port.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/testing/rendered_file.h"

namespace railgauge {
namespace {

using testing::HasSubstr;

std::optional<std::string> no_environment(const std::string&) { return std::nullopt; }

TEST(Config, TheReferencePageIsRenderedFromTheTable) {
  expect_file("deploy/docs/reference/controller-settings.md", controller_settings_page());
}

TEST(Config, AFlagBeatsAVariableBeatsTheFileBeatsTheDefault) {
  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "RAILGAUGE_SOCKET") return "/from/variable";
    if (name == "RAILGAUGE_METRICS_LISTEN") return "127.0.0.1:1";
    return std::nullopt;
  };
  const auto file = parse_settings_file(
      "# a comment\nsocket = /from/file\nmetrics_listen=127.0.0.1:2\n"
      "socket_group = ops\nsite_profile = /from/site.yaml\n",
      "c.conf", setting_names());
  ASSERT_TRUE(file);
  const auto config = resolve({{"metrics-listen", "127.0.0.1:3"}}, environment, *file);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->metrics_listen, "127.0.0.1:3");
  EXPECT_EQ(config->socket, "/from/variable");
  EXPECT_EQ(config->socket_group, "ops");
  EXPECT_EQ(config->site_profile, "/from/site.yaml");
  EXPECT_EQ(config->database, "/var/lib/railgauge/railgauge.db");
}

TEST(Config, EachSettingThatIsNoDefaultIsPrintedWithItsSource) {
  const SettingsFile file =
      *parse_settings_file("socket = /run/a\nsuites = /s\n", "f.conf", setting_names());
  const Environment environment = [](const std::string& name) {
    return name == "RAILGAUGE_SOCKET" ? std::optional<std::string>("/run/b") : std::nullopt;
  };
  EXPECT_EQ(settings_in_force({{"log-level", "debug"}}, environment, file),
            "socket = /run/b  # RAILGAUGE_SOCKET\nsuites = /s  # f.conf:2: suites\n"
            "log_level = debug  # --log-level\n");
}

TEST(Config, ThereIsNoTcpWithoutCertificatesOrInsecure) {
  const auto none = resolve({}, no_environment, {});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->tcp.listen, "");
  const auto refused = resolve({{"listen", "127.0.0.1:7443"}}, no_environment, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("--tls-cert, --tls-key and --tls-ca, or --insecure"));
  EXPECT_EQ(resolve({{"insecure", "true"}}, no_environment, {})->tcp.listen, "127.0.0.1:7443");
  EXPECT_FALSE(resolve({{"tls-cert", "a"}}, no_environment, {}));
  EXPECT_FALSE(resolve({{"insecure", "perhaps"}}, no_environment, {}));
  const Values files{{"tls-cert", "a"}, {"tls-key", "b"}, {"tls-ca", "c"}};
  EXPECT_EQ(resolve(files, no_environment, {})->tcp.listen, "0.0.0.0:7443");
  Values both = files;
  both["insecure"] = "true";
  EXPECT_FALSE(resolve(both, no_environment, {}));
}

TEST(Config, ADatabaseIsSyntheticOnlyWhereItIsAskedFor) {
  EXPECT_FALSE(resolve({}, no_environment, {})->synthetic);
  EXPECT_TRUE(resolve({{"synthetic", "true"}}, no_environment, {})->synthetic);
  EXPECT_FALSE(resolve({{"synthetic", "perhaps"}}, no_environment, {}));
}

TEST(Config, ASimulatedClockBeginsAtADate) {
  EXPECT_EQ(resolve({}, no_environment, {})->simulated_clock, std::nullopt);
  const auto chosen = resolve({{"simulated-clock", "2026-01-05T20:00"}}, no_environment, {});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(rfc3339(chosen->simulated_clock.value_or(0)), "2026-01-05T20:00:00.000Z");
  EXPECT_EQ(clock_page_of(*chosen), "/var/lib/railgauge/simulated-clock");
  const auto refused = resolve({{"simulated-clock", "tomorrow"}}, no_environment, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("--simulated-clock \"tomorrow\": a time"));
  EXPECT_FALSE(resolve({{"simulated-clock", "9999-12-31"}}, no_environment, {}));
}

TEST(Config, WhatIsKeptHowLongIsSetInDays) {
  const auto chosen = resolve({}, no_environment, {});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->keep_days.raw_samples, 7);
  EXPECT_EQ(chosen->keep_days.distributions, 396);
  EXPECT_EQ(chosen->keep_days.points, 1826);
  const auto file = parse_settings_file("keep_raw_samples = 0.5\n", "c.conf", setting_names());
  ASSERT_TRUE(file);
  EXPECT_EQ(resolve({{"keep-points", "0"}}, no_environment, *file)->keep_days.raw_samples, 0.5);
  for (const char* wrong : {"-1", "a year", "", "nan", "40000"}) {
    const auto refused = resolve({{"keep-distributions", wrong}}, no_environment, {});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_THAT(refused.error().message, HasSubstr("--keep-distributions"));
  }
}

TEST(Config, TheAuditLogAndTheBackupsAreBesideTheDatabaseUnlessTheyAreNamed) {
  const auto of = [](const Values& flags) {
    auto config = resolve(flags, [](const std::string&) { return std::nullopt; }, {});
    EXPECT_TRUE(config) << config.error().message;
    return *config;
  };
  const Config by_default = of({{"database", "/data/rg.db"}, {"socket", "/s"}});
  EXPECT_EQ(audit_log_of(by_default), "/data/audit.jsonl");
  EXPECT_EQ(backup_folder_of(by_default), "/data/backups");
  EXPECT_EQ(by_default.keep_days.audit, 396);
  const Config named = of({{"audit-log", "/log/audit"}, {"backup-folder", "/backup"}});
  EXPECT_EQ(audit_log_of(named), "/log/audit");
  EXPECT_EQ(backup_folder_of(named), "/backup");
  EXPECT_EQ(audit_log_of(of({{"audit-log", "none"}})), "");
  EXPECT_EQ(audit_log_of(of({{"audit-log", "-"}})), "-");
}

TEST(Config, BackupsAreMadeAsOftenAsTheSettingsSay) {
  EXPECT_EQ(resolve({}, no_environment, {})->backups.every_seconds, 0);
  const Values flags{{"backup-every", "24h"}, {"backup-keep", "14"}};
  const auto chosen = resolve(flags, no_environment, {});
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->backups.every_seconds, 86'400);
  EXPECT_EQ(chosen->backups.keep, 14U);
  for (const char* wrong : {"daily", "-1h", "1s", ""}) {
    const auto refused = resolve({{"backup-every", wrong}}, no_environment, {});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_THAT(refused.error().message, HasSubstr("--backup-every"));
  }
  for (const char* wrong : {"0", "-1", "1001", "all", ""})
    EXPECT_FALSE(resolve({{"backup-keep", wrong}}, no_environment, {})) << wrong;
}

TEST(HostPort, SplitsNamesAndBracketedAddresses) {
  EXPECT_EQ(parse_host_port("listen", "127.0.0.1:7470")->port, 7470);
  EXPECT_EQ(parse_host_port("listen", "[::1]:7470")->host, "::1");
  EXPECT_EQ(parse_host_port("listen", ":7443")->host, "0.0.0.0");
  for (const char* wrong : {"7470", "host:", "host:x", "host:65536", "host:-1", "::1:80", "h:1 "})
    EXPECT_FALSE(parse_host_port("listen", wrong)) << wrong;
}

TEST(Rfc3339, PrintsMillisecondsInUtcAndNothingForNotYet) {
  EXPECT_EQ(rfc3339(1'763'640'000.2504), "2025-11-20T12:00:00.250Z");
  EXPECT_EQ(rfc3339(0), "");
}

TEST(Settings, EnrolmentIsOffAndNeedsPortAuthorityAndTls) {
  EXPECT_EQ(resolve({}, no_environment, {})->enroll.listen, "");
  Values flags{{"enroll-listen", "7444"}, {"enroll-pki", "/p"}};
  EXPECT_THAT(resolve(flags, no_environment, {}).error().message, HasSubstr("it needs --tls-cert"));
  for (const char* file : {"tls-cert", "tls-key", "tls-ca"}) flags[file] = "/f";
  EXPECT_EQ(resolve(flags, no_environment, {})->enroll.listen, "0.0.0.0:7444");
  EXPECT_EQ(resolve(flags, no_environment, {})->enroll.days, 90);
  flags["enroll-listen"] = "10.0.0.1:9000";
  EXPECT_EQ(resolve(flags, no_environment, {})->enroll.listen, "10.0.0.1:9000");
  flags["enroll-days"] = "0";
  EXPECT_THAT(resolve(flags, no_environment, {}).error().message, HasSubstr("--enroll-days"));
  flags["enroll-days"] = "30";
  flags["enroll-pki"] = "";
  EXPECT_THAT(resolve(flags, no_environment, {}).error().message, HasSubstr("needed together"));
}

TEST(Settings, AChangeIsAppliedOrWaitsForARestart) {
  Values in_force = chosen_values({}, no_environment, {});
  EXPECT_EQ(in_force.size(), settings().size());
  const Values now = chosen_values(
      {{"keep-points", "30"}, {"socket", "/run/other"}, {"log-level", "info"}}, no_environment, {});
  const SettingChanges changes = changes_between(in_force, now);
  EXPECT_THAT(changes.applied, testing::ElementsAre("keep-points \"1826\" -> \"30\""));
  EXPECT_THAT(changes.waiting, testing::ElementsAre("socket"));
  take_reloaded(in_force, now);
  EXPECT_THAT(changes_between(in_force, now).applied, testing::IsEmpty());
  EXPECT_EQ(changes_between(in_force, now).waiting, changes.waiting) << "it waits still";
}

TEST(Settings, TheUpgradePolicyIsOneOfThree) {
  EXPECT_EQ(resolve({{"insecure", "true"}}, no_environment, {})->upgrade_policy, "propose");
  EXPECT_EQ(resolve({{"upgrade-policy", "run"}}, no_environment, {})->upgrade_policy, "run");
  EXPECT_FALSE(resolve({{"upgrade-policy", "always"}}, no_environment, {}));
  EXPECT_EQ(resolve({{"upgrade-window", "sat,sun"}}, no_environment, {})->upgrade_window,
            "sat,sun");
}

}  // namespace
}  // namespace railgauge
