# Shares, tables, recipients and grants, managed over the Admin API. See docs/operators/terraform.md.

terraform {
  required_version = ">= 1.5"
  required_providers {
    restapi = {
      source  = "Mastercard/restapi"
      version = "~> 1.20"
    }
  }
}

provider "restapi" {
  uri                  = "${trimsuffix(var.gateway, "/")}/admin/v1"
  write_returns_object = false # read each object after it is written
  create_method        = "PUT"
  update_method        = "PUT"
  headers = {
    Authorization = "Bearer ${var.token}"
    Content-Type  = "application/json"
  }
}

locals {
  tables = merge([
    for share, each in var.shares : {
      for table, source in each.tables : "${share}.${table}" => merge(source, {
        share  = share
        schema = split(".", table)[0]
        name   = split(".", table)[1]
      })
    }
  ]...)
  schemas = { for each in values(local.tables) : "${each.share}.${each.schema}" => each... }
  grants = merge([
    for recipient, each in var.recipients : {
      for share in each.shares : "${recipient}.${share}" => { recipient = recipient, share = share }
    }
  ]...)
}

# `keep_content` keeps the schemas and grants, which are resources of their own here.

resource "restapi_object" "share" {
  for_each = var.shares

  path         = "/shares"
  create_path  = "/shares/{id}?keep_content=true"
  update_path  = "/shares/{id}?keep_content=true"
  id_attribute = "name"
  object_id    = each.key
  data         = jsonencode({ name = each.key, comment = each.value.comment })
}

resource "restapi_object" "schema" {
  for_each = local.schemas

  path         = "/shares/${restapi_object.share[each.value[0].share].id}/schemas"
  create_path  = "/shares/${restapi_object.share[each.value[0].share].id}/schemas/{id}?keep_content=true"
  update_path  = "/shares/${restapi_object.share[each.value[0].share].id}/schemas/{id}?keep_content=true"
  id_attribute = "name"
  object_id    = each.value[0].schema
  data         = jsonencode({ name = each.value[0].schema })
}

resource "restapi_object" "table" {
  for_each = local.tables

  path         = "/shares/${each.value.share}/schemas/${restapi_object.schema["${each.value.share}.${each.value.schema}"].id}/tables"
  create_path  = "/shares/${each.value.share}/schemas/${restapi_object.schema["${each.value.share}.${each.value.schema}"].id}/tables/{id}"
  id_attribute = "name"
  object_id    = each.value.name
  data = jsonencode({
    name    = each.value.name
    catalog = each.value.catalog
    table   = each.value.table
    history = each.value.history
  })
}

resource "restapi_object" "recipient" {
  for_each = var.recipients

  path         = "/recipients"
  create_path  = "/recipients/{id}?keep_content=true"
  update_path  = "/recipients/{id}?keep_content=true"
  id_attribute = "name"
  object_id    = each.key
  data = jsonencode({
    name       = each.key
    comment    = each.value.comment
    allow_from = each.value.allow_from
  })
}

resource "restapi_object" "grant" {
  for_each = local.grants

  path         = "/recipients/${restapi_object.recipient[each.value.recipient].id}/grants"
  create_path  = "/recipients/${restapi_object.recipient[each.value.recipient].id}/grants/{id}"
  id_attribute = "share"
  object_id    = restapi_object.share[each.value.share].id
  data         = jsonencode({ recipient = each.value.recipient, share = each.value.share })
}
