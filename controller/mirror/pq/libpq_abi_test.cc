// Compares the table with PostgreSQL's header (at compile time, where it is installed) and with
// this host's library.
#include "controller/mirror/pq/libpq.h"

#include <gmock/gmock.h>

#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#include <postgresql/postgres_ext.h>

namespace railgauge::pq {
static_assert(kConnectionOk == CONNECTION_OK && kPollingFailed == PGRES_POLLING_FAILED &&
              kPollingReading == PGRES_POLLING_READING &&
              kPollingWriting == PGRES_POLLING_WRITING && kPollingOk == PGRES_POLLING_OK);
static_assert(kResultCommandOk == PGRES_COMMAND_OK && kResultTuplesOk == PGRES_TUPLES_OK &&
              kResultCopyIn == PGRES_COPY_IN);
static_assert(kFieldState == PG_DIAG_SQLSTATE && kFieldMessage == PG_DIAG_MESSAGE_PRIMARY);
static_assert(sizeof(Oid) == sizeof(unsigned int));
}  // namespace railgauge::pq
#endif

namespace railgauge::pq {
namespace {

TEST(LibpqTable, BindsEveryFunctionOfTheHostsLibrary) {
  const auto table = bind_libpq(kLibpq);
  if (!table) GTEST_SKIP() << table.error().message;
  EXPECT_NE(table->send_query, nullptr);
  EXPECT_NE(table->clear, nullptr);
  EXPECT_THAT(table->path, ::testing::HasSubstr("libpq.so"));
}

TEST(LibpqTable, SaysWhatToInstallWhenTheLibraryIsAbsent) {
  const auto table = bind_libpq("libpq-absent.so.5");
  ASSERT_FALSE(table);
  EXPECT_THAT(table.error().message, ::testing::HasSubstr("libpq5"));
}

}  // namespace
}  // namespace railgauge::pq
