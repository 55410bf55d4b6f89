"""Checks incoming data with pydantic."""

from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    EmailStr,
    Field,
    HttpUrl,
    ValidationError,
    computed_field,
    field_validator,
    model_validator,
)


class Level(str, Enum):
    LOW = 'low'
    HIGH = 'high'


class Address(BaseModel):
    street: str = Field(min_length=2)
    zip: Annotated[str, Field(pattern=r'^\d{5}$')]


class User(BaseModel):
    model_config = ConfigDict(extra='forbid', str_strip_whitespace=True)
    id: int
    name: str
    email: EmailStr | None = None
    site: HttpUrl | None = None
    born: date
    level: Level = Level.LOW
    balance: Decimal = Decimal('0')
    tags: set[str] = set()
    address: Address | None = None
    kind: Literal['a', 'b'] = 'a'

    @field_validator('name')
    @classmethod
    def not_shouting(cls, value):
        if value.isupper():
            raise ValueError('no shouting')
        return value

    @model_validator(mode='after')
    def adults_only(self):
        if self.level is Level.HIGH and self.born.year > 2007:
            raise ValueError('too young')
        return self

    @computed_field
    @property
    def initials(self) -> str:
        return ''.join(word[0] for word in self.name.split())


user = User.model_validate(
    {
        'id': '7',
        'name': '  Ann Lee ',
        'born': '1990-02-03',
        'balance': '1.50',
        'tags': ['x', 'x'],
        'email': 'ann@example.com',
        'site': 'http://example.com/a b',
        'address': {'street': 'Main', 'zip': '12345'},
    }
)
print(user)
print(user.model_dump(exclude={'address'}), user.model_dump_json(indent=2, exclude_none=True))
for data in (
    {},
    {'id': 'x', 'name': 'BOB', 'born': '1990-13-01', 'kind': 'c', 'more': 1},
    {'id': 1, 'name': 'b', 'born': '2010-01-01', 'level': 'high'},
    {'id': 1.5, 'name': 3, 'born': 0, 'address': {'street': 'x', 'zip': '1'}, 'email': 'nope'},
):
    try:
        User(**data)
    except ValidationError as error:
        print(error.error_count(), [(e['loc'], e['type'], e['msg']) for e in error.errors()])
schema = User.model_json_schema()
print(sorted(schema['properties']), schema['required'], schema['$defs']['Address'])
print(user.model_copy(update={'id': 8}).id, User.model_fields['level'].default, user == user.model_copy())
