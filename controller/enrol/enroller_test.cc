// The answers of the enrolment port over a real authority, store and trail, without sockets.
#include "controller/enrol/enroller.h"

#include <atomic>
#include <fstream>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/enrol/tokens.h"
#include "controller/store/sqlite/sqlite.h"
#include "controller/store/testing/store_testing.h"
#include "controller/trust/authority/authority.h"
#include "controller/trust/authority/issue.h"
#include "controller/trust/enrolment_token.h"
#include "controller/trust/testing/authority_folder.h"

namespace railgauge::enrol {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class EnrollerTest : public testing::Test {
 protected:
  EnrollerTest() {
    tokens_.serve(authority_.read("ca.crt"), "0.0.0.0:7444");
    auto log = audit::AuditLog::open(*store_, {});
    EXPECT_TRUE(log);
    log_ = std::move(*log);
    enroller_ = std::make_unique<Enroller>(
        *store_, *log_,
        Enroller::Options{
            .folder = authority_.path(),
            .authority = authority_.read("ca.crt"),
            .days = 90,
            .agent_port = 7443,
            .own_hosts = {"DNS:ctl"},
            .now_unix = [this] { return now_; },
            .is_attached = [this](const std::string& name) { return attached_.contains(name); },
            .is_revoked =
                [this](const trust::CertificateId& id) { return listed_.contains(id.serial); },
            .note = [this](std::string kind,
                           std::string text) { events_.push_back(kind + ": " + text); }});
  }

  std::string token(const std::string& nodes = "", std::uint32_t uses = 1, bool replaces = false) {
    api::CreateTokenRequest request;
    request.set_node_set(nodes);
    request.set_uses(uses);
    request.set_replaces(replaces);
    const auto made = tokens_.create(request, "root");
    EXPECT_TRUE(made) << made.error().message;
    return made->token();
  }
  http::Answer enrol(const std::string& token, const std::string& body,
                     const std::string& address = "ipv4:192.0.2.7:999") {
    return enroller_->answer({.method = "POST",
                              .path = "/v1/enrol",
                              .headers = {{"authorization", "Bearer " + token}},
                              .address = address,
                              .body = body});
  }
  http::Answer renew(const std::string& certificate) {
    return enroller_->answer({.method = "POST",
                              .path = "/v1/renew",
                              .certificate = certificate,
                              .address = "ipv4:192.0.2.7:999"});
  }
  static std::string request_of(const std::string& name) {
    return trust::make_request(name, trust::make_key().value()).value();
  }
  // A request by openssl's own words; `more`: of "openssl req".
  std::string openssl_request(const std::string& key, const std::string& more) const {
    EXPECT_TRUE(authority_.shell("openssl req -new -nodes -newkey " + key +
                                 " -keyout /dev/null -out any.csr " + more))
        << authority_.read("log");
    return authority_.read("any.csr");
  }
  std::vector<std::string> trail() {
    log_->settle(30);
    store::AuditFilter filter;
    filter.limit = 1'000;
    std::vector<std::string> lines;
    const auto rows = store_->read(store::read_audit, filter).value();
    for (const auto& row : rows)
      lines.push_back(fmt::format("{} {} {}", row.rpc, row.outcome, row.subject));
    return lines;
  }
  // "WHO: SUBJECT" of each row.
  std::vector<std::string> named() {
    log_->settle(30);
    store::AuditFilter filter;
    filter.limit = 1'000;
    std::vector<std::string> lines;
    const auto rows = store_->read(store::read_audit, filter).value();
    for (const auto& row : rows) lines.push_back(fmt::format("{}: {}", row.who, row.subject));
    return lines;
  }

  double now_ = trust::unix_now();
  std::set<std::string> attached_;
  std::set<std::string> listed_;  // serial numbers of the controller's revocation list
  std::vector<std::string> events_;
  trust::AuthorityFolder authority_;
  store::TempFolder folder_;
  std::unique_ptr<store::Store> store_ = store::open_store(folder_.file("db"));
  std::unique_ptr<audit::AuditLog> log_;
  Tokens tokens_{*store_, [this] { return now_; }};
  std::unique_ptr<Enroller> enroller_;
};

TEST_F(EnrollerTest, ATokenGetsOneNodeItsCertificate) {
  const std::string key = trust::make_key().value();
  const http::Answer answer = enrol(token(), trust::make_request("gpu017", key).value());
  ASSERT_EQ(answer.status, 201) << answer.body;
  const auto certificate = trust::parse_certificate(answer.body);
  ASSERT_TRUE(certificate);
  EXPECT_THAT(certificate->uris, ElementsAre("railgauge://agent/gpu017"));
  EXPECT_THAT(certificate->hosts, ElementsAre("DNS:gpu017"));
  EXPECT_NEAR(certificate->until_unix, now_ + 90 * 86'400, 2);
  EXPECT_TRUE(trust::is_pair(answer.body, key));
  EXPECT_TRUE(trust::check_issued(answer.body, authority_.read("ca.crt")));
  EXPECT_THAT(events_, ElementsAre(StartsWith("node_enrolled: node gpu017")));
  EXPECT_THAT(trail(), Contains(StartsWith("Enrolment.Enrol ok node gpu017, token ")));
}

TEST_F(EnrollerTest, TheAuthorityIsForEverybodyWithPortAndTime) {
  const http::Answer answer = enroller_->answer({.method = "GET", .path = "/v1/authority"});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, authority_.read("ca.crt"));
  EXPECT_THAT(answer.headers, Contains(testing::Pair("Railgauge-Port", "7443")));
  EXPECT_THAT(answer.headers,
              Contains(testing::Pair("Railgauge-Time", fmt::format("{:.0f}", now_))));
  EXPECT_EQ(enroller_->answer({.method = "GET", .path = "/v1/enrol"}).status, 405);
  EXPECT_EQ(enroller_->answer({.method = "GET", .path = "/metrics"}).status, 404);
}

TEST_F(EnrollerTest, OnlyNameAndKeyAreTakenFromARequest) {
  const std::string request = openssl_request(
      "ec -pkeyopt ec_paramgen_curve:P-384",
      "-subj /O=x/OU=operator/CN=gpu017 -addext basicConstraints=critical,CA:TRUE -addext "
      "subjectAltName=URI:railgauge://operator/eve,DNS:ctl.example,IP:10.0.0.1 -addext "
      "extendedKeyUsage=serverAuth");
  const http::Answer answer = enrol(token(), request);
  ASSERT_EQ(answer.status, 201) << answer.body;
  const auto certificate = trust::parse_certificate(answer.body).value();
  EXPECT_EQ(certificate.subject, "CN=gpu017,OU=agent,O=railgauge");
  EXPECT_THAT(certificate.uris, ElementsAre("railgauge://agent/gpu017"));
  EXPECT_THAT(certificate.hosts, ElementsAre("DNS:gpu017"));
  std::ofstream(authority_.path("got.crt")) << answer.body;
  ASSERT_TRUE(authority_.shell("openssl x509 -in got.crt -noout -text >text"));
  const std::string text = authority_.read("text");
  EXPECT_THAT(text, HasSubstr("CA:FALSE"));
  EXPECT_THAT(text, HasSubstr("TLS Web Client Authentication"));
  EXPECT_THAT(text, testing::Not(HasSubstr("TLS Web Server Authentication")));
}

// A certificate for the controller's own name would be half a controller.
TEST_F(EnrollerTest, TheControllersHostGetsNoDnsName) {
  for (const char* name : {"ctl", "CTL"}) {
    const http::Answer answer = enrol(token(), request_of(name));
    ASSERT_EQ(answer.status, 201) << answer.body;
    EXPECT_THAT(trust::parse_certificate(answer.body)->hosts, IsEmpty()) << name;
  }
}

TEST_F(EnrollerTest, WeakKeysAndBadNamesAreRefused) {
  const std::string many = token("", 100);
  const std::vector<std::pair<std::string, std::string>> cases{
      {"rsa:2048", "-subj /CN=n1"},
      {"ec -pkeyopt ec_paramgen_curve:secp256k1", "-subj /CN=n1"},
      {"ec -pkeyopt ec_paramgen_curve:P-521", "-subj /CN=n1"},
      {"ed25519", "-subj /CN=n1"},
      {"ec -pkeyopt ec_paramgen_curve:P-256", "-subj /O=x"},
      {"ec -pkeyopt ec_paramgen_curve:P-256", "-subj /CN=n1/CN=n2"},
      {"ec -pkeyopt ec_paramgen_curve:P-256", "-subj '/CN=n 1'"},
      {"ec -pkeyopt ec_paramgen_curve:P-256", "-subj /CN=ca"},
      {"ec -pkeyopt ec_paramgen_curve:P-256", "-subj /CN=controller"},
      {"ec -pkeyopt ec_paramgen_curve:P-256", "-subj '/CN=..\\/etc'"}};
  for (const auto& [key, more] : cases) {
    const http::Answer answer = enrol(many, openssl_request(key, more));
    EXPECT_EQ(answer.status, 400) << key << " " << more << ": " << answer.body;
    now_ += 60;
  }
  EXPECT_EQ(enrol(many, openssl_request("rsa:3072", "-subj /CN=n1")).status, 201);
  EXPECT_EQ(tokens_.list()->tokens(0).uses(), 1U) << "a refused request takes no use";
}

TEST_F(EnrollerTest, ARequestThatItsKeyDidNotSignIsRefused) {
  std::string request = request_of("n1");
  const std::size_t middle = request.size() - 60;
  request[middle] = request[middle] == 'A' ? 'B' : 'A';
  EXPECT_EQ(enrol(token(), request).status, 400);
  EXPECT_EQ(enrol(token(), "").status, 400);
  EXPECT_EQ(enrol(token(), std::string(trust::kMaxRequestBytes + 1, 'x')).status, 400);
  EXPECT_EQ(enrol(token(), authority_.read("ca.crt")).status, 400);
}

TEST_F(EnrollerTest, ATokenThatIsNoneIsRefusedAndGuessingIsSlowed) {
  const std::string request = request_of("n1");
  EXPECT_EQ(enrol("", request).status, 401);
  EXPECT_EQ(enrol("rgt_x", request).status, 401);
  std::string other = token();
  other[15] = other[15] == '0' ? '1' : '0';  // in the secret
  for (int i = 0; i < 8; ++i) EXPECT_EQ(enrol(other, request).status, 401) << i;
  EXPECT_EQ(enrol(other, request).status, 429);
  EXPECT_EQ(enrol(token(), request).status, 429) << "the source waits, whatever it has now";
  EXPECT_EQ(enrol(token(), request, "ipv4:192.0.2.8:1").status, 201) << "others do not";
  now_ += 7;
  EXPECT_EQ(enrol(other, request).status, 401);
  EXPECT_THAT(trail(), Contains(StartsWith("Enrolment.Enrol unauthenticated")));
}

TEST_F(EnrollerTest, AddressesOfOneIpv6NetworkAreOneSource) {
  const std::string request = request_of("n1");
  for (int i = 0; i < 10; ++i)
    enrol("rgt_x", request, fmt::format("ipv6:%5B2001:db8:0:1::{}%5D:7", i));
  EXPECT_EQ(enrol("rgt_x", request, "ipv6:%5B2001:db8:0:1:9::1%5D:7").status, 429);
  EXPECT_EQ(enrol("rgt_x", request, "ipv6:%5B2001:db8:0:2::1%5D:7").status, 401);
}

TEST_F(EnrollerTest, UsedExpiredRevokedAndForeignTokensAreRefused) {
  const std::string once = token();
  EXPECT_EQ(enrol(once, request_of("n1")).status, 201);
  const http::Answer used = enrol(once, request_of("n2"));
  EXPECT_EQ(used.status, 403);
  EXPECT_THAT(used.body, HasSubstr("all its uses are taken (1 of 1)"));
  const std::string bound = token("n[3-4]", 9);
  EXPECT_THAT(enrol(bound, request_of("n5")).body, HasSubstr("it is for n[3-4], not for node n5"));
  const std::string taken_back = token();
  ASSERT_TRUE(tokens_.revoke(trust::parse_enrolment_token(taken_back)->id, "root"));
  EXPECT_THAT(enrol(taken_back, request_of("n6")).body, HasSubstr("it was revoked"));
  const std::string old = token();
  now_ += 3'601;
  EXPECT_THAT(enrol(old, request_of("n7")).body, HasSubstr("it expired"));
}

TEST_F(EnrollerTest, OfNodesThatRaceForASingleUseOneGetsIt) {
  const std::string once = token();
  std::atomic<int> won = 0;
  std::vector<std::thread> nodes;
  for (int node = 0; node < 8; ++node)
    nodes.emplace_back([&, node] {
      const http::Answer answer =
          enrol(once, request_of(fmt::format("n{}", node)), fmt::format("ipv4:192.0.2.{}:1", node));
      won += answer.status == 201 ? 1 : 0;
    });
  for (std::thread& node : nodes) node.join();
  EXPECT_EQ(won, 1);
}

// A folder that others may write is the authority's fault: the node keeps its key and its use.
TEST_F(EnrollerTest, AFaultOfTheAuthorityCostsTheNodeNeitherKeyNorUse) {
  const std::string once = token("n1");
  const std::string request = request_of("n1");
  std::filesystem::permissions(authority_.path(), std::filesystem::perms::group_write,
                               std::filesystem::perm_options::add);
  const http::Answer faulty = enrol(once, request);
  EXPECT_EQ(faulty.status, 503) << faulty.body;
  std::filesystem::permissions(authority_.path(), std::filesystem::perms::group_write,
                               std::filesystem::perm_options::remove);
  EXPECT_EQ(enrol(once, request).status, 201);
}

TEST_F(EnrollerTest, TheSameKeyMayAskAgainWhenAnAnswerWasLost) {
  const std::string once = token();
  const std::string request = request_of("n1");
  ASSERT_EQ(enrol(once, request).status, 201);
  EXPECT_EQ(enrol(once, request).status, 201);
  EXPECT_EQ(tokens_.list()->tokens(0).uses(), 1U);
  EXPECT_EQ(enrol(once, request_of("n1")).status, 403) << "another key";
  now_ += kRepeatSeconds + 1;
  EXPECT_THAT(enrol(once, request).body, HasSubstr("node n1 used it at"));
}

// Who has the token and the key of a node that was revoked must not come back by them.
TEST_F(EnrollerTest, ARevokedNodeDoesNotComeBackByItsOldToken) {
  const std::string once = token();
  const std::string request = request_of("n1");
  ASSERT_EQ(enrol(once, request).status, 201);
  now_ += 5;
  ASSERT_TRUE(trust::revoke(authority_.path(), "n1", 30, now_));
  const http::Answer answer = enrol(once, request);
  EXPECT_EQ(answer.status, 403);
  EXPECT_THAT(answer.body, HasSubstr("was revoked since this token was used"));
  EXPECT_EQ(enrol(token(), request_of("n1")).status, 201) << "a new token does";
}

TEST_F(EnrollerTest, ANameWithACertificateNeedsATokenThatReplaces) {
  authority_.issue("agent", "n1");
  authority_.issue("operator", "ann");
  const std::string many = token("", 9);
  EXPECT_THAT(enrol(many, request_of("n1")).body, HasSubstr("tokens create --nodes n1 --replace"));
  EXPECT_EQ(enrol(many, request_of("ann")).status, 409);
  attached_.insert("n2");
  EXPECT_THAT(enrol(many, request_of("n2")).body, HasSubstr("attached with another certificate"));
  EXPECT_EQ(tokens_.list()->tokens(0).uses(), 0U);
  const http::Answer replaced = enrol(token("n[1-2]", 2, true), request_of("n1"));
  ASSERT_EQ(replaced.status, 201) << replaced.body;
  const auto shown = trust::show(authority_.path(), now_);
  std::vector<std::string> states;
  for (const auto& one : shown.value())
    if (one.name == "n1") states.push_back(one.state);
  EXPECT_THAT(states, testing::UnorderedElementsAre("revoked", "valid"));
  ASSERT_TRUE(authority_.shell("openssl crl -in crl.pem -noout -text >text"));
  EXPECT_THAT(authority_.read("text"), HasSubstr(authority_.certificate("n1").id.serial));
  EXPECT_EQ(enrol(token("ann", 1, true), request_of("ann")).status, 409)
      << "an operator's name is nobody's node";
}

TEST_F(EnrollerTest, ARenewalKeepsKeyAndNameAndARevokedOneIsRefused) {
  const std::string key = trust::make_key().value();
  const std::string first = enrol(token(), trust::make_request("n1", key).value()).body;
  now_ += 60 * 86'400;
  const http::Answer answer = renew(first);
  ASSERT_EQ(answer.status, 201) << answer.body;
  EXPECT_TRUE(trust::is_pair(answer.body, key));
  const auto fresh = trust::parse_certificate(answer.body).value();
  EXPECT_THAT(fresh.uris, ElementsAre("railgauge://agent/n1"));
  EXPECT_THAT(fresh.hosts, ElementsAre("DNS:n1"));
  EXPECT_NEAR(fresh.until_unix, now_ + 90 * 86'400, 2);
  EXPECT_THAT(trail(), Contains(StartsWith("Enrolment.Renew ok node n1, serial ")));
  ASSERT_TRUE(trust::revoke(authority_.path(), "n1", 30, now_));
  EXPECT_THAT(renew(answer.body).body, HasSubstr("it is revoked"));
  EXPECT_EQ(renew(answer.body).status, 403);
}

TEST_F(EnrollerTest, RenewalsAreForValidCertificatesOfAgentsOfThisAuthorityAndFew) {
  EXPECT_EQ(renew("").status, 401);
  authority_.issue("operator", "ann");
  EXPECT_EQ(renew(authority_.read("ann.crt")).status, 403);
  const trust::AuthorityFolder other;
  other.issue("agent", "n1");
  EXPECT_EQ(renew(other.read("n1.crt")).status, 403);
  authority_.issue("agent", "n2");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(renew(authority_.read("n2.crt")).status, 201) << i;
  EXPECT_EQ(renew(authority_.read("n2.crt")).status, 429);
  now_ += 800 * 86'400.0;
  EXPECT_THAT(renew(authority_.read("n2.crt")).body, HasSubstr("it has ended"));
}

TEST_F(EnrollerTest, TheTrailNamesWhatWasProvedAndCallsAClaimOne) {
  const std::string bound = token("n[3-4]");
  const std::string id = trust::parse_enrolment_token(bound)->id;
  EXPECT_EQ(enrol(bound, request_of("admin")).status, 403);
  EXPECT_THAT(named(), ElementsAre("token " + id + ": claimed node admin, token " + id));
  EXPECT_EQ(enrol("rgt_x", request_of("admin"), "ipv4:192.0.2.9:1").status, 401);
  EXPECT_THAT(named(), Contains("unknown: "));
  EXPECT_EQ(enrol(bound, request_of("n3")).status, 201);
  EXPECT_THAT(named(), Contains("token " + id + ": node n3, token " + id));
  for (const std::string& line : named()) EXPECT_THAT(line, testing::Not(StartsWith("admin")));
}

// The list may be newer than the index, as with one from elsewhere.
TEST_F(EnrollerTest, ARenewalEndsWithAnyCertificateOfItsKeyInTheList) {
  const std::string first = enrol(token(), request_of("n1")).body;
  const http::Answer second = renew(first);
  ASSERT_EQ(second.status, 201) << second.body;
  listed_.insert(trust::parse_certificate(first)->id.serial);
  const http::Answer third = renew(second.body);
  EXPECT_EQ(third.status, 403);
  EXPECT_THAT(third.body, HasSubstr("it is revoked"));
}

TEST_F(EnrollerTest, RowsOfOneKeyShowWhatWasRenewed) {
  const std::string request = request_of("n1");
  ASSERT_EQ(renew(enrol(token(), request).body).status, 201);
  Result<std::optional<std::int64_t>> (*keys)(store::Connection&) =
      [](store::Connection& connection) {
        return connection.integer("SELECT count(*) FROM enrolment GROUP BY key_sha256");
      };
  EXPECT_EQ(store_->read(keys).value(), 2);
}

}  // namespace
}  // namespace railgauge::enrol
