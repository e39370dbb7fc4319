// The server's side of TLS against a client of the library, over a socket pair.
#include "controller/trust/tls_channel.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/trust/pem_files.h"
#include "controller/trust/testing/authority_folder.h"
#include "kernels/core/base/fd.h"

namespace railgauge::trust {
namespace {

using testing::HasSubstr;
using State = TlsChannel::State;

struct Offer {
  std::string certificate{};  // a name of the folder; "": none
  std::string alpn = "h2";
  int max_version = 0;
};

// A client on one end of a pair, the channel on the other.
class TlsChannelTest : public testing::Test {
 protected:
  TlsChannelTest() {
    std::signal(SIGPIPE, SIG_IGN);
    folder_.issue("controller", "controller", {"localhost"});
    folder_.issue("agent", "n1");
    auto material = load_material({.certificate = folder_.path("controller.crt"),
                                   .key = folder_.path("controller.key"),
                                   .authority = folder_.path("ca.crt")});
    EXPECT_TRUE(material) << material.error().message;
    material_ = std::move(*material);
    auto server = TlsServer::make(material_);
    EXPECT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }

  void connect(const AuthorityFolder& folder, const Offer& offer) {
    std::array<int, 2> raw{-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, raw.data()), 0);
    client_.reset();
    channel_.reset();
    ours_ = Fd(raw[0]);
    theirs_ = Fd(raw[1]);
    const SslContext context(SSL_CTX_new(TLS_client_method()));
    if (offer.max_version != 0) SSL_CTX_set_max_proto_version(context.get(), offer.max_version);
    // Debian's level allows nothing below TLS 1.2; the refusal shall be the server's.
    SSL_CTX_set_security_level(context.get(), 0);
    SSL_CTX_set_min_proto_version(context.get(), TLS1_VERSION);
    if (!offer.certificate.empty()) {
      ASSERT_EQ(SSL_CTX_use_certificate_chain_file(context.get(),
                                                   folder.path(offer.certificate + ".crt").c_str()),
                1);
      ASSERT_EQ(
          SSL_CTX_use_PrivateKey_file(
              context.get(), folder.path(offer.certificate + ".key").c_str(), SSL_FILETYPE_PEM),
          1);
    }
    client_ = Ssl(SSL_new(context.get()));
    SSL_set_fd(client_.get(), theirs_.get());
    SSL_set_connect_state(client_.get());
    if (!offer.alpn.empty()) {
      std::string alpn(1, static_cast<char>(offer.alpn.size()));
      alpn += offer.alpn;
      SSL_set_alpn_protos(client_.get(), reinterpret_cast<const unsigned char*>(alpn.data()),
                          static_cast<unsigned>(alpn.size()));
    }
    channel_ = std::make_unique<TlsChannel>(*server_, ours_.get());
  }
  // Both sides in turn; the server's last state.
  State shake_hands() {
    State state = State::kBlocked;
    for (int i = 0; i < 20 && state == State::kBlocked; ++i) {
      SSL_do_handshake(client_.get());
      state = channel_->shake_hands();
    }
    SSL_do_handshake(client_.get());
    return state;
  }
  State handshake_of(const Offer& offer) {
    connect(folder_, offer);
    return shake_hands();
  }

  using Ssl = Handle<ReleasedBy<SSL*, SSL_free>>;
  AuthorityFolder folder_;
  Material material_;
  std::shared_ptr<const TlsServer> server_;
  Fd ours_;
  Fd theirs_;
  Ssl client_;
  std::unique_ptr<TlsChannel> channel_;
};

TEST_F(TlsChannelTest, AClientWithACertificateOfTheAuthorityIsKnown) {
  ASSERT_EQ(handshake_of({.certificate = "n1"}), State::kDone);
  const auto peer = channel_->peer();
  ASSERT_TRUE(peer) << peer.error().message;
  const auto own = parse_certificate(folder_.read("n1.crt"));
  ASSERT_TRUE(own);
  EXPECT_EQ(peer->id, own->id);
  EXPECT_EQ(peer->subject, own->subject);
  EXPECT_EQ(peer->uris, own->uris);
  ASSERT_EQ(handshake_of({.certificate = "n1", .max_version = TLS1_2_VERSION}), State::kDone);
  EXPECT_TRUE(channel_->peer());
}

TEST_F(TlsChannelTest, OthersDoNotGetThrough) {
  EXPECT_EQ(handshake_of({}), State::kEnded) << "no certificate";
  EXPECT_EQ(handshake_of({.certificate = "n1", .max_version = TLS1_1_VERSION}), State::kEnded);
  EXPECT_EQ(handshake_of({.certificate = "n1", .alpn = "http/1.1"}), State::kEnded);
  const AuthorityFolder stranger;
  stranger.issue("agent", "n1");
  connect(stranger, {.certificate = "n1"});
  EXPECT_EQ(shake_hands(), State::kEnded) << "another authority";
  EXPECT_EQ(handshake_of({.certificate = "n1"}), State::kDone);
}

TEST_F(TlsChannelTest, NothingIsReadableBeforeTheHandshakeEnds) {
  connect(folder_, {.certificate = "n1"});
  std::array<std::uint8_t, 16> some{};
  EXPECT_EQ(channel_->read(some).state, State::kBlocked);
  EXPECT_EQ(::send(theirs_.get(), "PRI * HTTP/2.0\r\n\r\n", 18, 0), 18);
  EXPECT_EQ(channel_->read(some).state, State::kEnded) << "no TLS record";
}

TEST_F(TlsChannelTest, BytesPassBothWaysHoweverTheSocketIsCut) {
  ASSERT_EQ(handshake_of({.certificate = "n1"}), State::kDone);
  std::vector<std::uint8_t> sent(1'000'000);
  for (std::size_t i = 0; i < sent.size(); ++i)
    sent[i] = static_cast<std::uint8_t>(i * 7 + i / 999);
  std::vector<std::uint8_t> got;
  std::array<std::uint8_t, 5'000> some{};
  bool was_blocked = false;
  for (std::size_t at = 0; got.size() < sent.size();) {
    if (at < sent.size()) {
      const auto moved = channel_->write(std::span(sent).subspan(at));
      ASSERT_NE(moved.state, State::kEnded);
      was_blocked = was_blocked || moved.state == State::kBlocked;
      at += moved.bytes;
      if (moved.state == State::kDone) continue;
    }
    const int size = SSL_read(client_.get(), some.data(), some.size());
    ASSERT_GT(size, 0);
    got.insert(got.end(), some.begin(), some.begin() + size);
  }
  EXPECT_TRUE(was_blocked);
  EXPECT_EQ(got, sent);
  ASSERT_EQ(SSL_write(client_.get(), sent.data(), 10'000), 10'000);
  got.clear();
  while (got.size() < 10'000) {
    const auto moved = channel_->read(some);
    ASSERT_EQ(moved.state, State::kDone);
    got.insert(got.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(moved.bytes));
  }
  EXPECT_TRUE(std::equal(got.begin(), got.end(), sent.begin()));
  EXPECT_EQ(channel_->read(some).state, State::kBlocked);
}

// Each is a turn of its own, so that nobody is held up by a flood of them.
TEST_F(TlsChannelTest, ARecordWithoutDataIsReportedAndAnEmptySocketIsToo) {
  ASSERT_EQ(handshake_of({.certificate = "n1"}), State::kDone);
  std::array<std::uint8_t, 16> some{};
  EXPECT_EQ(channel_->read(some).state, State::kBlocked);
  constexpr int kUpdates = 20;
  for (int i = 0; i < kUpdates; ++i) {
    ASSERT_EQ(SSL_key_update(client_.get(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    ASSERT_EQ(SSL_do_handshake(client_.get()), 1);
  }
  ASSERT_EQ(SSL_write(client_.get(), "end", 3), 3);
  int busy = 0;
  auto moved = channel_->read(some);
  for (; moved.state == State::kBusy; moved = channel_->read(some)) ++busy;
  EXPECT_EQ(busy, kUpdates);
  EXPECT_EQ(moved.state, State::kDone);
  EXPECT_EQ(moved.bytes, 3U);
  EXPECT_EQ(channel_->read(some).state, State::kBlocked);
}

TEST_F(TlsChannelTest, OldCiphersAndAClientWithoutAlpnDoNotGetThrough) {
  EXPECT_EQ(handshake_of({.certificate = "n1", .alpn = ""}), State::kEnded);
  connect(folder_, {.certificate = "n1", .max_version = TLS1_2_VERSION});
  ASSERT_EQ(SSL_set_cipher_list(client_.get(), "ECDHE+AES256+SHA1:AES256-SHA"), 1);
  EXPECT_EQ(shake_hands(), State::kEnded);
  connect(folder_, {.certificate = "n1", .max_version = TLS1_2_VERSION});
  ASSERT_EQ(SSL_set_cipher_list(client_.get(), "ECDHE+AESGCM"), 1);
  EXPECT_EQ(shake_hands(), State::kDone);
}

TEST_F(TlsChannelTest, EitherSideSeesTheOthersEnd) {
  ASSERT_EQ(handshake_of({.certificate = "n1"}), State::kDone);
  channel_->finish();
  std::array<std::uint8_t, 16> some{};
  EXPECT_LE(SSL_read(client_.get(), some.data(), some.size()), 0);
  EXPECT_EQ(SSL_get_shutdown(client_.get()) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN);
  ASSERT_EQ(handshake_of({.certificate = "n1"}), State::kDone);
  client_.reset();
  theirs_.reset();
  EXPECT_EQ(channel_->read(some).state, State::kEnded);
  EXPECT_EQ(channel_->write(some).state, State::kEnded);
}

TEST_F(TlsChannelTest, MaterialThatTheLibraryRefusesIsNamedByItsFlag) {
  const auto refusal = [](const Material& material) {
    const auto server = TlsServer::make(material);
    return server ? "" : server.error().message;
  };
  Material other = material_;
  other.key = folder_.read("n1.key");
  EXPECT_THAT(refusal(other), HasSubstr("--tls-key"));
  other = material_;
  other.certificate = "";
  EXPECT_THAT(refusal(other), HasSubstr("--tls-cert"));
  other = material_;
  other.authority = "no PEM";
  EXPECT_THAT(refusal(other), HasSubstr("--tls-ca"));
}

}  // namespace
}  // namespace railgauge::trust
