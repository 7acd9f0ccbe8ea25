/* text_call.c - calls of the text form: an operator or another target, and its arguments. */
#include "program/formats/text_read.h"

static fnz_status find_parameter(fnzi_parser *r, const fnz_op *op, const char *keyword,
                                 size_t *position, size_t *out) {
  int k = keyword[0] ? fnzi_op_param(op, keyword) : (int)(*position)++;
  if (k < 0)
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_TYPE, "%s has no argument \"%s\"; its schema is %s",
                           fnz_op_name(op), keyword, fnz_op_schema(op));
  if (k >= op->nparams || (!keyword[0] && op->params[k].keyword_only))
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_TYPE,
                           "%s has only %d arguments without name; its schema is %s",
                           fnz_op_name(op), k, fnz_op_schema(op));
  if (r->args.data[k].tag != FNZ_ARG_DEFAULT)
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_DUPLICATE, "argument \"%s\" is given twice",
                           op->params[k].name);
  *position = keyword[0] ? op->nparams : *position;
  *out = (size_t)k;
  return FNZ_OK;
}

fnz_status fnzi_parse_args(fnzi_parser *r, const fnz_op *op) {
  size_t position = 0;
  r->args.count = r->names.count = 0;
  while (op && r->args.count < op->nparams)
    FNZI_PUSH(r->ctx, &r->args, ((fnz_arg){.tag = FNZ_ARG_DEFAULT}));
  FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_PUNCT, "("));
  bool more = !fnzi_lexer_is(&r->x, FNZI_TOKEN_PUNCT, ")");
  while (more) {
    const char *keyword = "";
    fnz_arg arg;
    size_t k = 0;
    /* `name=` in front of an argument. */
    if ((r->x.kind == FNZI_TOKEN_WORD || r->x.kind == FNZI_TOKEN_STRING) &&
        fnzi_lexer_peek(&r->x) == '=') {
      FNZ_TRY(fnzi_parse_name(r, &keyword));
      FNZ_TRY(fnzi_expect(r, FNZI_TOKEN_PUNCT, "="));
    }
    if (op)
      FNZ_TRY(find_parameter(r, op, keyword, &position, &k));
    FNZ_TRY(fnzi_parse_tree(r, fnzi_parse_use, &arg));
    if (op)
      r->args.data[k] = arg;
    else {
      FNZI_PUSH(r->ctx, &r->args, arg);
      FNZI_PUSH(r->ctx, &r->names, keyword);
    }
    FNZ_TRY(fnzi_accept(r, FNZI_TOKEN_PUNCT, ",", &more));
  }
  return fnzi_expect(r, FNZI_TOKEN_PUNCT, ")");
}

fnz_status fnzi_parse_target(fnzi_parser *r, const char **target, const fnz_op **op) {
  const char *name;
  if (r->x.size > r->ctx->limits.op_name)
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_LIMIT,
                           "the name of an operator has more than %zu bytes",
                           r->ctx->limits.op_name);
  if (r->x.kind == FNZI_TOKEN_WORD || r->x.kind == FNZI_TOKEN_STRING) {
    FNZ_TRY(fnzi_token_text(r, target));
    FNZ_TRY(fnzi_op_use(r->p, *target, op));
    if (!*op && !fnzi_is_higher_order(*target)) {
      fnz_buffer near = {NULL, 0, 0};
      fnz_status status = fnzi_op_put_near(r->p, *target, &near);
      if (status == FNZ_OK)
        status =
            fnzi_lexer_fail(&r->x, FNZ_CLASS_UNSUPPORTED,
                            "there is no operator %s%s declare it with operator \"schema\", or for "
                            "the command with --ops",
                            *target, near.size ? near.data : ";");
      fnz_buffer_free(r->ctx, &near);
      return status;
    }
  }
  return fnzi_parse_name(r, &name);
}

fnz_status fnzi_keep_args(fnzi_parser *r, fnz_arg **out, uint32_t *count) {
  if (r->args.count > r->ctx->limits.args)
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_LIMIT, "%zu arguments or results; at most %zu",
                           r->args.count, r->ctx->limits.args);
  FNZI_NEW(&r->p->arena, r->args.count, out);
  if (r->args.count)
    memcpy(*out, r->args.data, r->args.count * sizeof **out);
  *count = (uint32_t)r->args.count;
  return FNZ_OK;
}

fnz_status fnzi_parse_call(fnzi_parser *r, const fnz_op **op, const fnz_arg **args,
                           uint32_t *nargs) {
  fnzi_node node = {0};
  const char *target;
  FNZ_TRY(fnzi_parse_target(r, &target, &node.op));
  if (!node.op)
    return fnzi_lexer_fail(&r->x, FNZ_CLASS_TYPE, "expected an operator with a schema");
  FNZ_TRY(fnzi_parse_args(r, node.op));
  FNZ_TRY(fnzi_keep_args(r, &node.args, nargs));
  *op = node.op;
  *args = node.args;
  return FNZ_OK;
}
