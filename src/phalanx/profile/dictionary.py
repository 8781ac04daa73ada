# SPDX-License-Identifier: Apache-2.0
"""What well-known attributes are called, in English and German, and in the American Community
Survey (ACS) and in the Demographic and Health Surveys (DHS): words of columns' names, in small
letters and without digits.
"""

from collections.abc import Mapping
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PERSON: Final = _words("""
    patient person subject individual member ssn nhs mrn insured employee resident citizen pid
    personid patientid respondent respid caseid idcode seqn pseudonym patnr patientennr
    patientennummer versicherte versichertennr versichertennummer krankenversichertennummer kvnr
    fallnummer fallnr personalnr personalnummer kundennr kundennummer matrikelnr matrikelnummer
    customer client student pupil worker donor beneficiary enrollee id
    patid subjid usubjid persid personid persnr pnr personenid personennr participant empid empno
    empnr mitarbeiternr clientid customerid memberid studentid uid userid pidp mergeid idpers fallid
    teilnehmernr kdnr
""")
"""Who a row is about."""
PERSON_NUMBERED: Final = PERSON | _words("""
    patienten pat subj pers personen emp fall case versicherten kunden kd user teilnehmer mitglied
""")
"""The same, where a word beside it says that it is a number."""
NUMBER: Final = _words("id ids nbr nr no num number nummer key uuid guid identifier code")
COUNTED: Final = _words("num number code")
"""Of these, what may count something, or be a kind of it."""
NUMBERED: Final = _words("id ids nbr nr nummer uuid guid identifier")
"""Of these, what says that something has a number of its own."""
DIRECT: Final = _words("""
    name names surname firstname lastname forename email emails mail mails emailaddr phone phones
    telephone mobile cellphone fax address addresses addr street iban bic swift url ip ipaddr
    account username user login handle twitter facebook instagram passwort password initials initialen
    plate licenseplate license licence passport driver
    contact contacts kontakt kontakte kontaktperson kontaktpersonen
    lat lng lon latitude longitude coordinate coordinates coords gps geo geocode koordinaten
    telefon tel telefonnr handy handynr rufnummer mobilnummer anschrift adresse strasse straße str
    hausnummer hausnr konto kontonr kundenkonto kennzeichen ausweis ausweisnr reisepass
    steuernr steuerid sozialversicherungsnummer svnr versicherungsnr policennr
""")
"""What names or reaches people by itself."""
OF_PERSONS: Final = _words("""
    kunde kunden kundin mitarbeiter mitarbeiterin angestellter policyholder versicherungsnehmer
    versicherter claimant defendant plaintiff victim witness suspect offender owner tenant holder
    parent mother father spouse partner wife husband child sibling guardian kin relative carer
    nom prenom vname nname teilnehmer teilnehmerin schueler schüler schülerin student studentin
    bewohner bewohnerin inhaber steuerpflichtiger antragsteller antragstellerin mitglied opfer täter
    taeter tatverdächtiger tatverdaechtiger beschuldigter zeuge geschädigter angehöriger angehoeriger
    mutter vater ehepartner ehegatte ehefrau ehemann betreuer betreuungsperson vormund
    notfallkontakt
""")
"""Who is there beside, or under another word: of many different texts, their names."""
OF_A_PERSON: Final = _words("""
    surname surnames firstname lastname forename forenames givenname familyname maidenname fullname
    nachname familienname vorname vornamen rufname geburtsname
""")
"""What a person is called, also where a few are called alike."""
BESIDE_NAME: Final = (PERSON - {"id"}) | _words("""
    first last given family middle maiden full birth sur fore
""")
"""With one of these beside it, a name is that of a person, and not of a hospital."""
SHARE: Final = _words("rate percent percentage pct ratio prozent anteil quote")
"""A share of money says little about how much there is."""
SEX: Final = _words("sex gender geschlecht")
BORN: Final = _words("birth birthday birthdate birthyear dob geburtsdatum geburtsjahr geburt")
BESIDE_BIRTH: Final = _words("year month date of at jahr datum")
ANY_TIME: Final = _words("month monat visit besuch")
"""A wave, too, but not what says by itself that rows are of a panel."""
A_TIME: Final = ANY_TIME | _words("""
    day days tag tage week woche time zeit hour stunde date datum rank rang platz position
""")
"""When something was, and a place among others, which is no person's number."""
WAVE: Final = ANY_TIME | _words("""
    year jahr wave welle quarter quartal release round runde semester period survey syear erhebung
    erhebungsjahr berichtsjahr
""")
OF_A_SURVEY: Final = _words("""
    fnlwgt finalwt perwt pwgtp wgtp hhwt wtfa wgt wtpp pweight hweight hochrechnungsfaktor
    hochrechnung
""")
"""A weight, whatever stands beside it."""
OF_HOUSEHOLDS: Final = _words("hhwt wgtp hweight")
"""Of these, a weight of households, and of no row about a person."""
WEIGHT: Final = _words("weight weights wt gewicht gewichtung")
OF_A_SAMPLE: Final = _words("survey sample sampling final design person household hh replicate")
"""With one of these beside it, a weight is none of a body."""
LIVING_TOGETHER: Final = _words("""
    household householdid hh hhid hhnr hid serialno haushalt haushaltsnummer family familie
""")
HOUSEHOLD: Final = LIVING_TOGETHER | _words("cluster psu")
"""With what a survey draws together, such as a street."""
FREE: Final = _words("note notes comment comments remark remarks text description narrative memo")
"""What holds free text."""
MODIFIERS: Final = _words("""
    type status native yrs years year months month date day p code num number nr group grp band range
    class category cat level attained highest detailed recode recoded coded of at in on the and or to
    current home work place last own primary main total person patient respondent child mother father
    parent head household hh disposition source principal r rc
    datum jahr monat tag art gruppe klasse stufe stand
""")
"""What stands beside the word for what others know, and changes nothing."""
ENDINGS: Final = _words("""
    name nummer adresse strasse straße telefon diagnose diagnosen erkrankung krankheit einkommen
    einkünfte gehalt lohn straftat delikt medikament therapie
""")
"""The last parts of German words that say what the whole is."""
AGE: Final = _words("age agep ages alter")
SENSITIVE: Final = (
    _words("""
        diagnosis diagnoses diag disease diseases illness condition conditions disorder disorders
        icd symptom symptoms cancer hiv reaction reactions diagnose diagnosen krankheit erkrankung
        dx befund krankheitsbild maladie depression psych suicide suizid abortion addiction sucht
        suchtmittel injury injuries verletzung verletzungen schwerbehinderung behinderung förderbedarf
    """),
    _words("""
        offence offences offense offenses crime crimes conviction convictions delikt delikte straftat
        straftaten vorstrafe vorstrafen abuse missbrauch disciplinary orientation sexuality
        partei party
    """),
    _words("""
        treatment treatments drug drugs medication medications medicine medicines prescription
        prescriptions procedure procedures therapy therapies behandlung medikament therapie
    """),
    _words("""
        income salary wage wages earnings pay debt inc balance einkommen gehalt lohn schulden
        guthaben pincp pernp wagp hincp einkünfte bruttogehalt nettogehalt schuldenstand schufa
        credit
    """),
    _words("outcome outcomes recovered recovd died deceased disability disabled verlauf"),
    _words("occupation job profession occ occp"),
    _words("grade grades gpa note noten zensur abschlussnote"),
    _words("educ education schooling degree"),
)
"""What people would not want to be linked with, the most telling words first."""
ANY_SENSITIVE: Final[frozenset[str]] = frozenset().union(*SENSITIVE)
"""All of these words."""
HANDLING: Final = _words("""
    by source origin channel provider payer sponsor office clerk user author editor interviewer
    operator sender supplier vendor batch lot version file form split fold
    doctor doctors dr physician attending surgeon nurse therapist clinician gp practice provider
    teacher judge officer agent broker advisor employer school hospital clinic station ward department
    reporter witness reviewer
    arzt ärztin aerztin hausarzt pfleger pflegerin lehrer lehrerin richter richterin beamter berater
    arbeitgeber schule krankenhaus klinik praxis abteilung
    von durch quelle herkunft bearbeiter sachbearbeiter kostenträger melder charge fassung
""")
"""Who or what handled a row, which is a secret of no person in it."""
QUASI: Final = _words("""
    age sex gender female male zip zipcode postcode postal plz birth birthday birthdate dob race
    ethnicity ethnic hispanic marital married marriage nationality country region state county city
    town municipality kids children education educ edu admission discharge weight height religion
    language msp household housing tenure citizenship

    agep schl mar rac hisp puma pob cit

    alter geschlecht geburtsdatum geburtsjahr familienstand wohnort ort gemeinde kreis bundesland
    land nationalität staatsangehörigkeit konfession kinder bildung schulabschluss beruf aufnahme
    entlassung gewicht größe
""")
"""What others are known to know."""
CODES: Final[Mapping[str, str]] = {
    code: word
    for word, codes in {
        "age": "v012 v013 hv105",
        "cluster": "v001 hv001",
        "household": "v002 hv002",
        "pweight": "v005 hv005",
        "region": "v024 v025 hv024 hv025",
        "sex": "hv104",
        "education": "v106 v107 v149 hv106",
        "religion": "v130",
        "ethnicity": "v131",
        "marital": "v501",
        "children": "v201",
    }.items()
    for code in codes.split()
}
"""Of names that are codes, the word that they stand for: those of DHS, women (v) and households
(hv).
"""
NOT_APPLICABLE: Final = _words("n/a na niu nap entfällt") | {"not applicable", "trifft nicht zu"}
"""Values, in small letters, that say that a person has none."""
AMONG_NUMBERS: Final = NOT_APPLICABLE | {"n", "."}
"""Values that say so where all others are numbers: N is a "no" elsewhere."""
