#include "controller/mirror/pq/libpq.h"

#include "kernels/dl/table.h"

namespace railgauge::pq {
namespace {

TableLoader<Libpq> g_libpq;

}  // namespace

Result<Libpq> bind_libpq(const std::string& name) {
  const Library library =
      RG_TRY(Library::open(name, "libpq", "install PostgreSQL's client library (libpq5)"));
  Libpq table;
  RAILGAUGE_BIND(connect_start, PQconnectStartParams)
  RAILGAUGE_BIND(connect_poll, PQconnectPoll)
  RAILGAUGE_BIND(finish, PQfinish)
  RAILGAUGE_BIND(status, PQstatus)
  RAILGAUGE_BIND(error_message, PQerrorMessage)
  RAILGAUGE_BIND(socket, PQsocket)
  RAILGAUGE_BIND(set_nonblocking, PQsetnonblocking)
  RAILGAUGE_BIND(send_query, PQsendQueryParams)
  RAILGAUGE_BIND(send_script, PQsendQuery)
  RAILGAUGE_BIND(flush, PQflush)
  RAILGAUGE_BIND(consume_input, PQconsumeInput)
  RAILGAUGE_BIND(is_busy, PQisBusy)
  RAILGAUGE_BIND(get_result, PQgetResult)
  RAILGAUGE_BIND(put_copy_data, PQputCopyData)
  RAILGAUGE_BIND(put_copy_end, PQputCopyEnd)
  RAILGAUGE_BIND(result_status, PQresultStatus)
  RAILGAUGE_BIND(result_field, PQresultErrorField)
  RAILGAUGE_BIND(result_error, PQresultErrorMessage)
  RAILGAUGE_BIND(rows, PQntuples)
  RAILGAUGE_BIND(columns, PQnfields)
  RAILGAUGE_BIND(column_name, PQfname)
  RAILGAUGE_BIND(column_type, PQftype)
  RAILGAUGE_BIND(is_null, PQgetisnull)
  RAILGAUGE_BIND(value, PQgetvalue)
  RAILGAUGE_BIND(length, PQgetlength)
  RAILGAUGE_BIND(changed, PQcmdTuples)
  RAILGAUGE_BIND(clear, PQclear)
  describe_library(library, "railgauge_fake_libpq", table);
  return table;
}

Result<const Libpq*> load_libpq() { return g_libpq.load(bind_libpq, kLibpq, kLibpqVariable); }

}  // namespace railgauge::pq
